"""A diagnosis in the terminal: a paragraph for the run, and one for each phase."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from warplint.advice.diagnosis.verdict import Diagnosis, Verdict
from warplint.report.frame import VISIBLE
from warplint.report.style import Style

HEADS = 14
"""Room for a class's name, and a gap."""
WIDEST = 100
"""Prose of longer lines is hard to read."""


def render(diagnosis: Diagnosis, style: Style, width: int) -> Iterator[str]:
    """Lines without their ends."""
    yield from _paragraph("step", diagnosis.run, style, width)
    for phase, verdict in diagnosis.phases:
        yield ""
        yield from _paragraph(phase.value, verdict, style, width)


def _paragraph(name: str, verdict: Verdict, style: Style, width: int) -> Iterator[str]:
    room = max(min(width, WIDEST) - HEADS, 2 * HEADS)
    heads = [style.strong(f"{name:{HEADS}}"), style.frame(f"{verdict.bottleneck.value:{HEADS}}")]
    sentence = verdict.sentence.translate(VISIBLE)
    lines = textwrap.wrap(sentence, room, break_long_words=False, break_on_hyphens=False)
    for number in range(max(len(lines), len(heads))):
        head = heads[number] if number < len(heads) else " " * HEADS
        text = lines[number] if number < len(lines) else ""
        yield f"{head}{text}".rstrip()
