"""A tensor factory whose result is built on the CPU in hot code and comes together with the GPU."""

from __future__ import annotations

import ast
from collections.abc import Collection

from warplint.source.records import dataclass
from warplint.static.facts import Facts, Role, UseKind
from warplint.static.finding import Applicability, Hotness
from warplint_rules._calls import has_unpacking, keyword
from warplint_rules._programs import stays_on_cpu
from warplint_rules.placement._content import FROM_PYTHON, Content, content_of, is_empty, unchanging
from warplint_rules.placement._device import CUDA, bound_at, device_of, is_conditional, is_named
from warplint_rules.placement._journey import Effect, Journey, Meeting, is_paid, journey

DELIBERATE = ("generator", "out", "pin_memory")
"""Arguments that say the author chose the CPU, or has the tensor already."""

UNLESS_A_NUMBER = {Effect.RAISES, Effect.LEAVES}


@dataclass(frozen=True, slots=True)
class Case:
    """A factory call that is a finding. ``device`` is the expression to build on, where a fix may add it."""

    made: ast.Call
    content: Content
    meeting: Meeting
    site: ast.expr
    device: str | None
    applicability: Applicability


def case_of(made: ast.Call, facts: Facts, effects: Collection[Effect]) -> Case | None:
    """The case that a factory call is, if what first happens to its tensor is one of the effects."""
    function = facts.function(made)
    if not is_paid(made, facts) or (function is not None and function.role is Role.DATA):
        return None
    if _is_deliberate(made) or not facts.value(made).on_cpu:
        return None
    content = content_of(made, facts)
    if is_empty(made, content):
        return None
    if content in FROM_PYTHON and not (made.args and all(unchanging(data, facts) for data in made.args)):
        return None
    travelled = journey(made, facts)
    meeting = next((met for met in travelled.meetings if _is_reported(met, made, content, facts)), None)
    if travelled.host or meeting is None or meeting.effect not in effects or stays_on_cpu(facts):
        return None
    if facts.hotness(made) is not Hotness.STEP and meeting.effect is not Effect.COPIES:
        return None
    site = _site(made, meeting)
    device, applicability = _fix(made, content, site, travelled, facts)
    return Case(made, content, meeting, site, device, applicability)


def _is_reported(meeting: Meeting, made: ast.Call, content: Content, facts: Facts) -> bool:
    """Data handed over as one value may be a number, whose tensor has no dimensions and is free."""
    has_dimensions = content not in FROM_PYTHON or bool(facts.value(made).ndim)
    return meeting.effect not in UNLESS_A_NUMBER or has_dimensions


def _is_deliberate(made: ast.Call) -> bool:
    return has_unpacking(made) or any(keyword(made, name) is not None for name in DELIBERATE)


def _site(made: ast.Call, meeting: Meeting) -> ast.expr:
    """The move itself where it is called on the factory, else the factory."""
    move = meeting.use.node
    if meeting.use.kind is UseKind.MOVED and isinstance(move, ast.Call) and _receiver(move) is made:
        return move
    return made


def factory_at(site: ast.expr) -> ast.Call:
    """The factory call of a site, which is itself or what the move at the site is called on."""
    assert isinstance(site, ast.Call), "a site is a factory or a move of one"
    receiver = _receiver(site)
    return receiver if isinstance(receiver, ast.Call) else site


def _receiver(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _fix(
    made: ast.Call, content: Content, site: ast.expr, travelled: Journey, facts: Facts
) -> tuple[str | None, Applicability]:
    """The device to build on, and how safe that is; (None, NONE) where no fix is right."""
    none = (None, Applicability.NONE)
    devices = {device_of(meeting.use, made, facts) for meeting in travelled.meetings}
    device = devices.pop()
    if content in FROM_PYTHON or device is None or keyword(made, "device") is not None:
        return none
    if content is Content.NUMBER and not isinstance(made.func, ast.Attribute):
        return none
    is_exact = content is Content.EXACT or (
        content is Content.NUMBER and isinstance(made.args[0], ast.Constant)
    )
    # Moved, the tensor was no leaf of the graph; built on the device it is one, which has its own gradient.
    if keyword(made, "requires_grad") is not None:
        is_exact = False
    if site is not made:
        return device, Applicability.SAFE if is_exact else Applicability.UNSAFE
    if devices or travelled.meets_cpu or not bound_at(device, made, facts):
        return none
    if device == CUDA and any(is_conditional(meeting.use, made, facts) for meeting in travelled.meetings):
        return none
    safe = (
        is_exact
        and not travelled.escapes
        and all(meeting.unchanged and is_named(meeting.use) for meeting in travelled.meetings)
    )
    return device, Applicability.SAFE if safe else Applicability.UNSAFE
