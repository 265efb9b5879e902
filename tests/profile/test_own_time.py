"""The capture's own time is told from the program's by the steps beside the window."""

from __future__ import annotations

from warplint.profile.model import IdleCause
from warplint.profile.sections.window_price import WindowPrice
from warplint.profile.totals.own_time import discount_capture
from warplint.profile.totals.tally import LineTally, Tally

LAUNCH, HOST, CAPTURE, DATA = IdleCause.LAUNCH, IdleCause.HOST, IdleCause.CAPTURE, IdleCause.DATA


def price(before: float | None, inside: float | None, after: float | None = None) -> WindowPrice:
    return WindowPrice(1, 0.1, 0.1, 0.1, 0.1, before, inside, after, 1)


def tally(**lines: tuple[int, dict[IdleCause, int]]) -> Tally:
    """Ten steps; a line's launches and its idle milliseconds by cause."""
    found = Tally(wall_ns=100_000_000, steps=10)
    for file, (launches, idle_ms) in lines.items():
        line = LineTally(launches=launches)
        line.idle_ns.update({cause: ms * 1_000_000 for cause, ms in idle_ms.items()})
        found.lines[file, 1] = line
    return found


def idle_ms(found: Tally, file: str) -> dict[IdleCause, float]:
    return {cause: ns / 1e6 for cause, ns in found.lines[file, 1].idle_ns.items() if ns}


def test_what_steps_took_longer_is_shared_by_launches() -> None:
    found = tally(a=(300, {LAUNCH: 40}), b=(100, {LAUNCH: 20, HOST: 5}), sleep=(0, {HOST: 30}))
    discount_capture(found, price(6, 10))
    assert idle_ms(found, "a") == {LAUNCH: 10, CAPTURE: 30}
    assert idle_ms(found, "b") == {LAUNCH: 10, HOST: 5, CAPTURE: 10}
    assert idle_ms(found, "sleep") == {HOST: 30}


def test_a_line_gives_no_more_than_it_has_and_the_others_give_the_rest() -> None:
    found = tally(a=(300, {LAUNCH: 12, DATA: 50}), b=(100, {LAUNCH: 60}))
    discount_capture(found, price(6, 10))
    assert idle_ms(found, "a") == {DATA: 50, CAPTURE: 12}
    assert idle_ms(found, "b") == {LAUNCH: 32, CAPTURE: 28}


def test_nothing_is_taken_where_the_window_did_not_slow_the_steps() -> None:
    for known in (price(10, 9), price(None, 10), price(6, None), price(6, 10, 10)):
        found = tally(a=(300, {LAUNCH: 40}))
        discount_capture(found, known)
        assert idle_ms(found, "a") == {LAUNCH: 40}


def test_more_than_there_is_cannot_be_taken() -> None:
    found = tally(a=(300, {LAUNCH: 4}))
    discount_capture(found, price(1, 10))
    assert idle_ms(found, "a") == {CAPTURE: 4}
