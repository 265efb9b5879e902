"""What rules that report tensors built on the CPU have in common: the message and the fix."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from warplint.static.facts import Facts, UseKind
from warplint.static.finding import Confidence, Hotness, Related
from warplint.static.rules.rule import Rewrite, Rule, Verdict, wants
from warplint.static.values import Place
from warplint_rules._calls import with_keyword
from warplint_rules.placement._case import Case, case_of, factory_at
from warplint_rules.placement._content import FACTORIES, FROM_PYTHON, Content
from warplint_rules.placement._journey import Effect

if TYPE_CHECKING:
    import libcst as cst

WHAT = {
    Effect.COPIES: "`{made}` builds this tensor on the CPU; it is copied to the GPU each time {where}, and "
    "the host waits for that",
    Effect.INDEXES: "`{made}` builds indices on the CPU; they are copied each time they select from a GPU "
    "tensor {where}, and the host waits for that",
    Effect.FETCHES: "`{made}` builds this tensor on the CPU; what is written into it {where} is copied from "
    "the GPU, and the host waits for each copy",
    Effect.RAISES: "`{made}` builds a CPU tensor that is combined with a GPU tensor {where}: on a GPU this "
    "raises",
    Effect.LEAVES: "`{made}` builds a CPU tensor {where}, which computes with it and returns it on the CPU; "
    "it is copied to the GPU each time it is used there",
}


class HostMade(Rule):
    """Reports factories of CPU tensors to which one of ``effects`` happens."""

    effects: ClassVar[frozenset[Effect]]
    wants = wants(calls=FACTORIES)

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call), "the rule wants calls"
        case = case_of(node, facts, self.effects)
        if case is None:
            return None
        title = "" if case.device is None else f"Build it on {case.device}"
        related = () if case.site is not node else tuple(_related(case, facts))
        return Verdict(
            case.site, _message(case, facts), _confidence(case, facts), case.applicability, title, related
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        case = case_of(factory_at(site), facts, self.effects)
        if case is None or case.device is None or not isinstance(node, cst.Call):
            return None
        if site is case.made:
            return Rewrite(_built_there(node, case))
        move = node.func
        assert isinstance(move, cst.Attribute) and isinstance(move.value, cst.Call), "a move of the factory"
        made = _built_there(move.value, case)
        if only_moves(site, facts) and "#" not in cst.Module([]).code_for_node(node):
            return Rewrite(made)
        return Rewrite(node.with_changes(func=move.with_changes(value=made)))


def _built_there(made: cst.Call, case: Case) -> cst.Call:
    """The factory call with its device; a number is filled in, which copies nothing."""
    import libcst as cst

    assert case.device is not None, "a fix knows the device"
    if case.content is Content.NUMBER:
        assert isinstance(made.func, cst.Attribute), "a number is only fixed in torch.tensor"
        shape = cst.Arg(cst.Tuple([]), comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        made = made.with_changes(func=made.func.with_changes(attr=cst.Name("full")), args=[shape, *made.args])
    return with_keyword(made, "device", cst.parse_expression(case.device))


def only_moves(move: ast.expr, facts: Facts) -> bool:
    """Whether a move does nothing but move: it has a device and no element type or layout."""
    assert isinstance(move, ast.Call) and isinstance(move.func, ast.Attribute), "a move is a method call"
    given = {"device", *(word.arg for word in move.keywords)} - {"non_blocking"}
    targets = [*move.args, *(word.value for word in move.keywords if word.arg == "device")]
    if move.func.attr == "type_as" or given != {"device"} or len(targets) > 1:
        return False
    return all(not facts.value(target).is_tensor for target in targets)


def _confidence(case: Case, facts: Facts) -> Confidence:
    if facts.hotness(case.made) is not Hotness.STEP:
        return Confidence.POSSIBLE
    other = case.meeting.use.other
    proven = other is not None and other.place is Place.ACCELERATOR
    return Confidence.CERTAIN if proven else Confidence.LIKELY


def _message(case: Case, facts: Facts) -> str:
    what = WHAT[case.meeting.effect].format(made=ast.unparse(case.made.func), where=facts.why_hot(case.made))
    return f"{what}. {_advice(case, facts)}"


def _advice(case: Case, facts: Facts) -> str:
    if case.content in FROM_PYTHON:
        function = facts.function(case.made)
        is_module = function is not None and function.class_role == "module"
        place = "as a buffer in `__init__`" if is_module else "on the GPU, before the loop"
        return f"Its content never changes: make it once, {place}."
    device = f"device={case.device}" if case.device is not None else "device="
    if case.content is Content.NUMBER:
        return f"Fill it in on the GPU: `torch.full((), …, {device})`."
    numbers = "; the GPU draws other numbers" if case.content is Content.RANDOM else ""
    return f"Pass `{device}` to `{ast.unparse(case.made.func)}`{numbers}."


def _related(case: Case, facts: Facts) -> list[Related]:
    node = case.meeting.use.node
    text = "moved to the GPU here" if case.meeting.use.kind is UseKind.MOVED else "meets a GPU tensor here"
    return [Related(facts.span(node), text)] if isinstance(node, ast.expr) else []
