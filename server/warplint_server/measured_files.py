"""What the newest captures say of closed files: asked every few seconds, so that nothing is done twice."""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path

from warplint.advice.measured.newest_captured import Measuring, NewestCaptures
from warplint.capture.layout import LayoutError
from warplint.project.batch import Work, check_item
from warplint.project.files import Target
from warplint.project.result import FileResult
from warplint.project.root import project_root

logger = logging.getLogger(__name__)


class MeasuredFiles:
    """Joins findings with captures, and keeps what came of it until the file or the capture has changed."""

    def __init__(self) -> None:
        self._captures = NewestCaptures()
        self._known: dict[Path, tuple[FileResult, Measuring, FileResult]] = {}

    def told(self, item: Target, folder: Path, found: FileResult, packs: bool) -> FileResult:
        """What is reported of a file in a folder of the editor's, in place of what rules ``found``."""
        measuring = self._measuring(project_root(item.path) or folder)
        if measuring is None or not measuring.concerns(item.path):
            self._known.pop(item.path, None)
            return found
        known = self._known.get(item.path)
        if known is None or not _is_same(known[0], found) or known[1].captured is not measuring.captured:
            told = check_item(item, Work(measuring=measuring, packs=packs))
            known = self._known[item.path] = found, measuring, told
        return known[2]

    def keep(self, paths: Collection[Path]) -> None:
        """Forget all files but these: others are gone, or in no folder any more."""
        for path in self._known.keys() - set(paths):
            del self._known[path]

    def _measuring(self, root: Path) -> Measuring | None:
        try:
            captured = self._captures.of(root)
        except LayoutError as error:
            logger.info("%s", error)
            return None
        return None if captured is None else Measuring(captured, root)


def _is_same(one: FileResult, other: FileResult) -> bool:
    # Findings are equal whatever their severities, which a configuration may have changed.
    return one.source.text == other.source.text and repr(one.findings) == repr(other.findings)
