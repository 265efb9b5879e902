"""What fixes would change, as a unified diff that ``patch -p0`` takes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from warplint.project.result import FileResult

NO_END = "\\ No newline at end of file"


def unified(result: FileResult) -> Iterator[str]:
    """The lines of one file's diff, each with its end; nothing for a file without changes."""
    if result.original is None:
        return
    before, after = _lines(result.original.text), _lines(result.source.text)
    for line in difflib.unified_diff(before, after, result.shown_path, result.shown_path):
        yield line if line.endswith("\n") else f"{line}\n{NO_END}\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends, as patch counts them: by line feeds alone."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
