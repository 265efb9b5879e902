"""What can be done about findings, with edits that are made only for the offer that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from lsprotocol import types

from warplint.project.builtin import UNUSED_SUPPRESSION
from warplint.source.diffs import moved_lines
from warplint.source.span import Span
from warplint.static.finding import Applicability, Edit, Finding
from warplint_server.document import Results

FIX_ALL = "source.fixAll.warplint"
QUICK_FIX = types.CodeActionKind.QuickFix.value
TITLE = {
    Applicability.SAFE: "{title}",
    Applicability.UNSAFE: "{title} (unsafe: it can change behaviour)",
}


@dataclass(frozen=True, slots=True)
class Offer:
    """One choice. ``edits`` may take a while; without a ``finding`` it concerns the whole file.

    ``rewrites`` says that the edits are made by libcst.
    """

    title: str
    kind: str
    edits: Callable[[], tuple[Edit, ...]]
    finding: Finding | None = None
    preferred: bool = False
    rewrites: bool = False


def offered(results: Results, where: Span) -> Iterator[Offer]:
    """The choices for the findings that a selection touches, then those for the file."""
    engine, checked = results.project.engine, results.checked
    here = results.findings_in(where)
    touched = [finding for finding in here if results.rule(finding) is not None]
    for finding in here:
        if finding.code == UNUSED_SUPPRESSION.code:
            edits = partial(engine.edits, checked, finding)
            yield Offer(finding.fix_title, QUICK_FIX, edits, finding, preferred=True)
        elif finding in touched and finding.fix in TITLE:
            title = TITLE[finding.fix].format(title=finding.fix_title)
            safe = finding.fix is Applicability.SAFE
            edits = partial(engine.edits, checked, finding)
            yield Offer(title, QUICK_FIX, edits, finding, preferred=safe, rewrites=True)
    for finding in touched:
        title = f"Ignore {finding.code} here"
        yield Offer(title, QUICK_FIX, partial(_silencing, results, finding), finding)
    if any(finding.fix is Applicability.SAFE for finding in checked.findings):
        yield Offer("Apply all safe fixes of Warplint", FIX_ALL, partial(_all_safe, results), rewrites=True)


def _silencing(results: Results, finding: Finding) -> tuple[Edit, ...]:
    from warplint.project.suppressions import silencing_edit

    return (silencing_edit(results.source, finding),)


def _all_safe(results: Results) -> tuple[Edit, ...]:
    old = results.source.text
    new = results.project.engine.fix(results.source, unsafe=False).text
    return tuple(changed_parts(old, new))


def changed_parts(old: str, new: str) -> Iterator[Edit]:
    """One text turned into another. Lines that stay are not touched, nor a cursor or breakpoint in them."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, before))]
    old_line = new_line = 0
    for line, there in (*sorted(moved_lines(before, after).items()), (len(before) + 1, len(after) + 1)):
        gone, come = before[old_line : line - 1], after[new_line : there - 1]
        if gone or come:
            yield _changed_part("".join(gone), "".join(come), starts[old_line])
        old_line, new_line = line, there


def _changed_part(old: str, new: str, start: int) -> Edit:
    """Replaces no more than what lies between the common ends; ``start`` is where the old one stands."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    return Edit(Span(start + head, start + len(old) - tail), new[head : len(new) - tail])


def _common(one: str, other: str) -> int:
    """How many characters two texts share at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
