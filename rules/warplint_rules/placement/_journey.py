"""Where a tensor built on the CPU goes, and the places at which that matters to the GPU."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator

from warplint.source.records import dataclass
from warplint.static.facts import Facts, Use, UseKind
from warplint.static.finding import Hotness
from warplint.static.rules.rule import TorchVersion
from warplint.static.values import Kind, Place
from warplint_rules._calls import is_set
from warplint_rules._loops import loops_around
from warplint_rules.placement._computing import only_works_on
from warplint_rules.placement._content import FACTORIES, FROM_PYTHON

CPU_MASKS_WAIT_FOR_NOTHING = TorchVersion(2, 9)


class Effect(enum.Enum):
    """What happens where the tensor and the GPU come together."""

    COPIES = "copies"
    """It is moved or written to the GPU: a copy from pageable memory, and the host waits for it."""
    INDEXES = "indexes"
    """It selects from a CUDA tensor, which copies it first."""
    FETCHES = "fetches"
    """Values from the GPU are written into it, each time with a copy and a wait."""
    RAISES = "raises"
    """PyTorch refuses to combine it with a CUDA tensor."""
    LEAVES = "leaves"
    """``forward`` computes with it on the CPU and returns it there, so that its caller has to copy it."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """One place where the tensor meets the GPU. ``unchanged`` means as it was built, not computed with."""

    effect: Effect
    use: Use
    unchanged: bool


@dataclass(frozen=True, slots=True)
class Journey:
    """Where a tensor went. ``meetings`` stand in the order they are reached.

    ``host``: Python reads it somewhere, or fills it piece by piece. ``meets_cpu``: it is combined with other
    CPU tensors, or returned beside them. ``escapes``: it goes where the engine cannot follow.
    """

    meetings: tuple[Meeting, ...]
    host: bool
    meets_cpu: bool
    escapes: bool


ESCAPES = {UseKind.STORED, UseKind.RETURNED, UseKind.PASSED, UseKind.OTHER}


def is_paid(node: ast.AST, facts: Facts) -> bool:
    """Whether a copy at this place is paid every step, or once an image or text that a pipeline makes."""
    hotness = facts.hotness(node)
    if hotness is not Hotness.EPOCH:
        return hotness is Hotness.STEP
    function = facts.function(node)
    return function is not None and function.class_role == "pipeline"


def journey(made: ast.Call, facts: Facts) -> Journey:
    """Follow a CPU tensor and everything computed from it as long as that stays on the CPU."""
    travelled = list(_uses(made, facts))
    meetings = (
        Meeting(effect, use, unchanged=tensor is made)
        for tensor, use in travelled
        if (effect := _effect(made, tensor, use, facts)) is not None
    )
    return Journey(
        tuple(meetings),
        host=any(use.kind is UseKind.HOST or _fills(use, made, facts) for _, use in travelled),
        meets_cpu=any(use.other is not None and use.other.on_cpu for _, use in travelled)
        or _is_returned_beside_others([use.node for _, use in travelled], facts),
        escapes=any(use.kind in ESCAPES for _, use in travelled),
    )


def _uses(made: ast.expr, facts: Facts) -> Iterator[tuple[ast.expr, Use]]:
    """Every use of the tensor, then of what is computed from it on the CPU, each with the tensor used."""
    waiting = [made]
    seen: set[ast.AST] = {made}
    while waiting:
        tensor = waiting.pop()
        for use in facts.uses(tensor):
            yield tensor, use
            if use.node in seen or not isinstance(use.node, ast.expr):
                continue
            seen.add(use.node)
            goes_on = use.kind in (UseKind.COMBINED, UseKind.OTHER) or _is_worked_on(use, facts)
            if goes_on and facts.value(use.node).on_cpu:
                waiting.append(use.node)


def _is_worked_on(use: Use, facts: Facts) -> bool:
    """Whether it is handed to a function of the project that only computes with it: ``scale(noise)``."""
    if use.kind is not UseKind.PASSED or not isinstance(use.node, ast.Call):
        return False
    helper = facts.called_function(use.node)
    return helper is not None and only_works_on(helper)


def _is_returned_beside_others(used_at: list[ast.AST], facts: Facts) -> bool:
    """Whether a function returns it with other CPU tensors, with which its caller most likely combines it."""
    returns = {node for node in used_at if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple)}
    return any(
        sum(facts.value(element).on_cpu for element in node.value.elts) > used_at.count(node)
        for node in returns
        if isinstance(node.value, ast.Tuple)
    )


def _fills(use: Use, made: ast.expr, facts: Facts) -> bool:
    """Whether Python writes into the tensor what a GPU would have to wait for: all but numbers, once each."""
    target = _written(use.node)
    if target is None or not facts.value(target).on_cpu or use.other is None or use.other.on_accelerator:
        return False
    # What is computed from factories alone can be built on the GPU as well, but for one copy a round.
    is_host_data = use.other.kind is not Kind.NUMBER and not _is_computed(use, facts)
    return is_host_data or loops_around(use.node, facts) != loops_around(made, facts)


def _is_computed(use: Use, facts: Facts) -> bool:
    """Whether what is written is a CPU tensor computed without new data from the host."""
    statement = facts.statement(use.node)
    if use.other is None or not use.other.on_cpu or not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return False
    calls = [node for node in ast.walk(statement.value) if isinstance(node, ast.Call)]
    names = [FACTORIES.get(facts.qualified(call.func) or "") for call in calls]
    return any(names) and not any(content in FROM_PYTHON for content in names)


def _written(node: ast.AST) -> ast.expr | None:
    """The tensor that is written into: ``t`` of ``t[0] = x``, ``t.copy_(x)`` and ``t += x``."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy_":
        return node.func.value
    return node.target if isinstance(node, ast.AugAssign) else None


def _effect(made: ast.expr, tensor: ast.expr, use: Use, facts: Facts) -> Effect | None:
    if not is_paid(use.node, facts):
        return None
    if use.kind is UseKind.MOVED:
        return Effect.COPIES if _leaves_the_cpu(use, facts) else None
    value = facts.value(tensor)
    if use.kind is UseKind.RETURNED:
        is_computed = tensor is not made and value.ndim != 0
        return Effect.LEAVES if is_computed and _is_in_forward(use, facts) else None
    if use.other is None or not use.other.on_accelerator:
        return None
    if use.kind is UseKind.INDEX:
        if value.dtype == "torch.bool":
            return Effect.INDEXES if _fills_by_mask(use, facts) else None
        # A number is read where it is.
        return None if value.ndim == 0 else Effect.INDEXES
    if use.kind is not UseKind.COMBINED:
        return None
    written = _written(use.node)
    if written is not None and not isinstance(use.node, ast.AugAssign):
        return Effect.FETCHES if facts.value(written).on_cpu else Effect.COPIES
    # A CPU tensor of no dimensions goes to the kernel as a number.
    return Effect.RAISES if value.ndim != 0 and _surely_meets(use, facts) else None


def _fills_by_mask(use: Use, facts: Facts) -> bool:
    """Whether a number is written through a mask that is copied to the GPU first; one there needs no wait.

    To read through a mask waits wherever it is, so that the copy changes nothing.
    """
    statement = facts.statement(use.node)
    return (
        facts.torch < CPU_MASKS_WAIT_FOR_NOTHING
        and isinstance(statement, ast.Assign)
        and use.node in statement.targets
        and facts.value(statement.value).kind is Kind.NUMBER
    )


def _leaves_the_cpu(use: Use, facts: Facts) -> bool:
    """Whether a move goes elsewhere and the host waits for it, which it does not for ``non_blocking``."""
    if not isinstance(use.node, ast.Call) or is_set(use.node, "non_blocking"):
        return False
    moved = facts.value(use.node)
    return moved.is_tensor and not moved.on_cpu


def _surely_meets(use: Use, facts: Facts) -> bool:
    """Whether the code can hardly have run on a GPU, as most code has.

    So it is in ``forward`` itself, whose input comes from where the module is, or beside a tensor that is
    proven to be on the GPU.
    """
    proven = use.other is not None and use.other.place is Place.ACCELERATOR
    return proven or _is_in_forward(use, facts)


def _is_in_forward(use: Use, facts: Facts) -> bool:
    function = facts.function(use.node)
    return function is not None and function.name == "forward" and function.class_role == "module"
