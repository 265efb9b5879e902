"""Which files named in a trace's stacks are the user's own, and their texts as far as they lie in the
project.

A trace does not hold the sources that ran. What the project has under the same name is taken, unless a
function does not stand where the trace says it began: then it is another text, and none is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from warplint.capture.layout import RawSource
from warplint.profile.raw import RawProcess
from warplint.profile.trace_stacks import PythonFrame, is_library
from warplint.source.text import LINE_END, SourceError, SourceText

LEAST_SUFFIX = 2
"""How many of the last parts of an absolute path must be found in the project: many files are
``train.py``."""

DECORATED = 12
"""A function's first line is that of its first decorator: its name may stand so many lines below."""


@dataclass(slots=True)
class UserCode:
    """The places costs may stand on, as the sources of a captured process."""

    process: RawProcess = field(default_factory=lambda: RawProcess(Path()))
    files: dict[int, str] = field(default_factory=dict)
    """Source's id to ``LineCost.file``: a file, or the name of what is no line (``named``)."""
    named: set[int] = field(default_factory=set)
    """Sources that are no files: operators and annotations."""
    edited: list[str] = field(default_factory=list)
    """Files of the project whose text is not what ran."""
    _numbers: dict[str, int] = field(default_factory=dict)

    def source(self, file: str) -> int:
        """The id of a file as the trace names it; 0 when it is not the user's."""
        return self._numbers.get(file, 0)

    def name(self, name: str) -> int:
        """The id of a place that is no line."""
        found = self._numbers.get(name)
        if found is None:
            found = self._add(name, name)
            self.named.add(found)
        return found

    def add_files(self, frames: Iterable[PythonFrame], roots: Sequence[Path], are_calls: bool) -> None:
        """Find the user's files. Where the project has some of them, the others are not the user's.

        ``are_calls`` says that the frames' lines are those of the functions' beginnings. Roots are folders
        that relative names may count from, the project's first.
        """
        by_file: dict[str, list[PythonFrame]] = {}
        for frame in frames:
            if not is_library(frame.file):
                by_file.setdefault(frame.file, []).append(frame)
        found = {file: path for file in by_file if (path := _find(file, roots)) is not None}
        for file in found or by_file:
            path = found.get(file)
            shown = file if path is None else _relative(path, roots[0])
            number = self._add(file, shown)
            if path is not None:
                self._read(number, path, by_file[file] if are_calls else [])

    def _add(self, key: str, shown: str) -> int:
        number = self._numbers[key] = len(self.files) + 1
        self.files[number] = shown
        return number

    def _read(self, number: int, path: Path, functions: list[PythonFrame]) -> None:
        try:
            source = SourceText.read(path)
        except (OSError, SourceError):
            return
        lines = LINE_END.split(source.text)
        if not all(_begins(lines, frame) for frame in functions):
            self.edited.append(self.files[number])
            return
        self.process.sources[number] = RawSource(number, str(path), source.digest, source.text)


def _find(file: str, roots: Sequence[Path]) -> Path | None:
    """The file of that name in the project, or of a path that ends alike."""
    path = PurePosixPath(file)
    if not path.is_absolute() and ":" not in file:
        return next((root / path for root in roots if (root / path).is_file()), None)
    for root in roots:
        if path.is_relative_to(PurePosixPath(root.as_posix())):
            return Path(path) if Path(path).is_file() else None
    for length in range(len(path.parts) - 1, LEAST_SUFFIX - 1, -1):
        suffix = Path(*path.parts[-length:])
        if (roots[0] / suffix).is_file():
            return roots[0] / suffix
    return None


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _begins(lines: Sequence[str], frame: PythonFrame) -> bool:
    """Whether a function of that name begins at that line; what has no name of its own may begin anywhere."""
    if frame.line > len(lines):
        return False
    name = frame.function.rpartition(".")[2]
    if not name.isidentifier():
        return True
    return any(name in line for line in lines[frame.line - 1 : frame.line - 1 + DECORATED])
