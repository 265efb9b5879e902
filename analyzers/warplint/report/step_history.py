"""How a run's steps changed, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from warplint.profile.sections.step_points import ChangePoint
from warplint.report.figures import count, milliseconds

CHANGES_TOLD = 3
"""With more changes only the last is told, and how many there were."""


def step_history(changes: Sequence[ChangePoint]) -> str | None:
    """None where nothing changed."""
    if not changes:
        return None
    last = changes[-1]
    if len(changes) > CHANGES_TOLD:
        sentence = f"step time changed {len(changes)} times, last at step {count(last.step)}: "
        sentence += f"{milliseconds(last.before_us)} ms until then, {milliseconds(last.after_us)} ms since"
    else:
        stretches = [f"{milliseconds(each.before_us)} ms until step {count(each.step)}" for each in changes]
        sentence = f"steps took {', '.join(stretches)}, {milliseconds(last.after_us)} ms since"
    return sentence + _remark(last)


def _remark(last: ChangePoint) -> str:
    if last.at_window is not None:
        return f", when window {last.at_window} was open: the capture may have a part in it"
    return "" if last.window is not None else "; no window was opened since"
