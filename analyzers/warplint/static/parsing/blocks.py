"""The parts of an outline: blocks, functions, classes, calls, imports."""

from __future__ import annotations

import ast
import enum

from warplint.source.records import dataclass, field
from warplint.static.parsing.tree import FunctionNode


class Effect(enum.Enum):
    """What a branch does to the frequency around it."""

    NONE = "as often"
    SPARSE = "now and then: every N steps, on one rank, when something is logged"
    ONCE = "the first time only"
    NEVER = "before an exception"
    ON_CPU = "only where tensors are on the CPU"


class BlockKind(enum.Enum):
    """What decides how often a block runs beside the block around it."""

    TOP = "module level"
    FUNCTION = "function"
    LOOP = "loop"
    TAKEN = "branch of an if whose test is true"
    REFUSED = "branch of an if whose test is false"
    HANDLER = "except handler"


@dataclass(slots=True, eq=False)
class Block:
    """Statements that run equally often. ``node`` is the loop, if or handler that owns them.

    ``leaves`` is how the block ends when it leaves what is around it: ``break``, ``raise``, ``continue`` or
    ``return``. The statements after an ``if`` that leaves are a REFUSED block of that ``if``. ``effect`` is
    what its owner does to how often it runs, and ``calls`` what a loop calls, once that was asked.
    """

    kind: BlockKind
    node: ast.AST
    parent: Block | None
    function: FunctionOutline | None
    leaves: str | None = None
    effect: Effect | None = None
    calls: LoopCalls | None = None


@dataclass(frozen=True, slots=True)
class LoopCalls:
    """The calls inside a loop, and those that each of its rounds makes: in no other loop that could count."""

    inside: tuple[CallSite, ...]
    direct: tuple[CallSite, ...]


@dataclass(slots=True, eq=False)
class ClassOutline:
    """A class statement.

    ``stores`` maps attributes set on ``self`` to the methods that set them; ``computed`` are those set to
    more than a constant, a parameter, a comparison or an object.
    """

    name: str
    node: ast.ClassDef
    outer: FunctionOutline | None
    methods: dict[str, FunctionOutline] = field(default_factory=dict)
    stores: dict[str, set[str]] = field(default_factory=dict)
    computed: set[str] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class FunctionOutline:
    """A function statement. ``qualname`` is unique in most files: ``Net.forward``, ``train.closure``.

    ``body`` is the block of its statements, ``assigned`` are the names that they bind.
    """

    name: str
    qualname: str
    node: FunctionNode
    class_: ClassOutline | None
    outer: FunctionOutline | None
    defined_in: Block
    body: Block = field(init=False)
    loops: list[Block] = field(default_factory=list)
    calls: list[CallSite] = field(default_factory=list)
    assigned: set[str] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class CallSite:
    """A call, or with ``handed_over`` a function named as an argument of the call ``node``.

    ``name`` is the last name of what is called; ``base`` is the name it is an attribute of, empty for a plain
    name and None for an attribute of anything longer.
    """

    name: str
    base: str | None
    node: ast.Call
    block: Block
    handed_over: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """``alias`` stands for ``target`` in the function's scope, or the module's."""

    alias: str
    target: str
    function: FunctionOutline | None
