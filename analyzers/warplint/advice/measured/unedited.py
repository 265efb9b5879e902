"""What of a text is as it was captured: only of that does a capture say anything."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from warplint.advice.measured.limits import SAME_PROGRAM
from warplint.profile.follow import PlacedCost, Unchanged, edit_of, statement_lines
from warplint.profile.model import Profile
from warplint.source.statements import parsed
from warplint.source.text import LINE_END, SourceText
from warplint.static.parsing.tree import last_name

LOADER = "DataLoader"


class Unedited:
    """One text, and what of it is unedited. ``file`` is its name in the capture, ``costs`` are the capture's
    by line of the text.

    Most of it is asked of few texts, and found when it is.
    """

    def __init__(
        self, profile: Profile, file: str, current: SourceText, costs: Mapping[int, PlacedCost]
    ) -> None:
        self._profile, self._file, self._current, self._costs = profile, file, current, costs

    def has(self, lines: Sequence[int]) -> bool:
        """Whether these lines of the text, which follow each other, were captured so, wherever they stood."""
        return self._unchanged.was(lines)

    @cached_property
    def is_program(self) -> bool:
        """Whether so much of what was measured still stands that the text is the program that was captured.

        Another program of the same name has a line or two in common with it, such as ``loss.backward()``.
        """
        measured = sum(cost.file == self._file for cost in self._profile.lines)
        kept = sum(not placed.stale for placed in self._costs.values())
        return kept > 0 and kept >= SAME_PROGRAM * measured

    @cached_property
    def has_updates(self) -> bool:
        """Whether the text's lines that update parameters in each step are all as they were."""
        here = (cost for cost in self._profile.lines if cost.file == self._file)
        return self._keeps([cost.line for cost in here if cost.gpu_optimizer_us > 0])

    @cached_property
    def has_loaders(self) -> bool:
        """Whether the text's statements that make loaders are all as they were."""
        return self._keeps(_loader_lines(self._captured))

    def _keeps(self, lines: Sequence[int]) -> bool:
        """Whether the statements of these lines of the captured text stand in the current one."""
        statements = statement_lines(self._captured).values()
        around = {number: statement for statement in statements for number in statement}
        return all(self._unchanged.is_kept(around.get(line, [line])) for line in lines)

    @property
    def _captured(self) -> str:
        captured = self._profile.sources.get(self._file)
        return captured.text if captured is not None else ""

    @cached_property
    def _unchanged(self) -> Unchanged:
        return edit_of(self._captured, self._current.text)


@lru_cache(maxsize=64)
def _loader_lines(text: str) -> list[int]:
    """The lines on which loaders are made; all of a text that does not parse, since any may be one.

    Kept, since an editor asks again with every keystroke.
    """
    tree = parsed(text)
    if tree is None:
        return list(range(1, len(LINE_END.split(text)) + 1))
    nodes = list(ast.walk(tree))
    imported = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    names = {LOADER, *(alias.asname for alias in imported if alias.name == LOADER)}
    return [node.lineno for node in nodes if isinstance(node, ast.Call) and last_name(node) in names]
