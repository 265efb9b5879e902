"""What a rule may ask about a place in a module: the engine's answers, by ast node."""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass

from warplint.source.span import Span
from warplint.static.finding import Hotness
from warplint.static.values import Value


class Role(enum.Enum):
    """What a function is for, from its class, its name and who calls it."""

    FORWARD = "forward"
    TRAIN_STEP = "train step"
    EVALUATE = "evaluate"
    GENERATE = "generate"
    SETUP = "set-up"
    DATA = "data"
    SCRIPT = "script"
    OTHER = "other"


class UseKind(enum.Enum):
    """What happens to a value at one place it reaches."""

    MOVED = "moved"
    """``.to(device)``, ``.cuda()``, ``.type_as(x)``."""
    COMBINED = "combined"
    """An operand beside another tensor: arithmetic, a torch call, a module call."""
    INDEX = "index"
    """Inside the brackets of a subscript of a tensor."""
    HOST = "host"
    """Read by Python: ``.tolist()``, ``int()``, iteration, a condition, printing."""
    STORED = "stored"
    """Put into ``self``, a buffer, a container."""
    RETURNED = "returned"
    PASSED = "passed"
    """An argument of a call the engine does not know."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Use:
    """One place a value reaches. ``node`` is the expression that uses it; ``other`` the value it meets."""

    kind: UseKind
    node: ast.AST
    other: Value | None = None


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """The function around a node. ``class_role`` is ``module``, ``dataset``, … or None."""

    name: str
    role: Role
    class_name: str | None
    class_role: str | None
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Facts:
    """Everything known about one module, asked by ast node (nodes of this module's own trees only)."""

    def value(self, node: ast.expr) -> Value:
        """What the expression is at that place."""
        raise NotImplementedError

    def uses(self, node: ast.expr) -> tuple[Use, ...]:
        """Where the expression's value goes within its function, through names and tuple unpacking."""
        raise NotImplementedError

    def qualified(self, node: ast.expr) -> str | None:
        """``torch.arange`` for ``t.arange`` after ``import torch as t``; None when not from an import."""
        raise NotImplementedError

    def hotness(self, node: ast.AST) -> Hotness:
        """How often the place runs, through callers in the same file."""
        raise NotImplementedError

    def why_hot(self, node: ast.AST) -> str:
        """A phrase for messages: ``in Net.forward``, ``in the training loop``."""
        raise NotImplementedError

    def function(self, node: ast.AST) -> FunctionFacts | None:
        """The innermost function around the node; None at module level."""
        raise NotImplementedError

    def parent(self, node: ast.AST) -> ast.AST | None:
        raise NotImplementedError

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around the node."""
        raise NotImplementedError

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """The node's range in the whole file's text."""
        raise NotImplementedError
