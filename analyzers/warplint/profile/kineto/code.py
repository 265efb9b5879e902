"""Which files named in a trace's stacks are the user's own, and their texts as far as they lie in the
project.

A trace does not hold the sources that ran. What the project has under the same name is taken, unless a
function does not stand where the trace says it ran: then it is another text, and none is shown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from warplint.capture.layout import RawSource
from warplint.profile.kineto.stacks import PythonFrame, is_library
from warplint.profile.raw.process import RawProcess
from warplint.source.statements import parsed
from warplint.source.text import LINE_END, SourceError, SourceText

LEAST_SUFFIX = 2
"""How many of the last parts of an absolute path must be found in the project: many files are
``train.py``."""


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

    def add_files(self, frames: Iterable[PythonFrame], roots: Sequence[Path]) -> None:
        """Find the user's files. Where the project has some of them, the others are not the user's.

        ``roots`` are folders that relative names may count from, the project's first.
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
                self._read(number, path, by_file[file])

    def _add(self, key: str, shown: str) -> int:
        number = self._numbers[key] = len(self.files) + 1
        self.files[number] = shown
        return number

    def _read(self, number: int, path: Path, frames: list[PythonFrame]) -> None:
        try:
            source = SourceText.read(path)
        except (OSError, SourceError):
            return
        lines, tree = len(LINE_END.split(source.text)), parsed(source.text)
        runs = all(frame.line <= lines for frame in frames)
        if not runs or (tree is not None and not all(_runs_through(tree, frame) for frame in frames)):
            self.edited.append(self.files[number])
            return
        self.process.sources[number] = RawSource(number, str(path), source.digest, source.text)


def _find(file: str, roots: Sequence[Path]) -> Path | None:
    """The file of that name in the project, or of a path that ends alike."""
    path = PurePosixPath(file)
    if not path.is_absolute() and ":" not in file:
        return next((root / path for root in roots if _is_file(root / path)), None)
    for root in roots:
        if path.is_relative_to(PurePosixPath(root.as_posix())):
            return Path(path) if _is_file(Path(path)) else None
    for length in range(len(path.parts) - 1, LEAST_SUFFIX - 1, -1):
        found = roots[0].joinpath(*path.parts[-length:])
        if _is_file(found):
            return found
    return None


def _is_file(path: Path) -> bool:
    """Names come from elsewhere: some are too long here, or hold what no name may."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _runs_through(tree: ast.Module, frame: PythonFrame) -> bool:
    """Whether a function of that name has that line. Frames that are no function of a name may stand
    anywhere."""
    name = frame.function.rpartition(".")[2]
    if not name.isidentifier():
        return True
    return any(
        _first_line(node) <= frame.line <= (node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name
    )


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
