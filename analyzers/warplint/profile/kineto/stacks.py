"""Python frames as traces name them, and which of them are the user's own code.

torch writes ``file(line): function``. In ``python_function`` events the line is the function's first; in the
stacks that torch 1.8 to 1.10 stored with each operator it is the line that ran. Files on ``sys.path`` have
lost the part that the path has.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

_FRAME = re.compile(r"(?P<file>.+?)\((?P<line>\d+)\): (?P<function>.+)", re.DOTALL)
_CALL = re.compile(r"(?P<file>.+):(?P<line>\d+)", re.DOTALL)

LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/", "/lib/python3.", "/lib64/python3.")
"""Where installed code lies, in absolute paths."""

LIBRARIES = frozenset(
    {
        "accelerate",
        "apex",
        "deepspeed",
        "flash_attn",
        "functorch",
        "ignite",
        "lightning",
        "lightning_fabric",
        "numpy",
        "pandas",
        "pytorch_lightning",
        "scipy",
        "sklearn",
        "torch",
        "torchaudio",
        "torchdata",
        "torchtext",
        "torchvision",
        "tqdm",
        "triton",
        "wandb",
        "warplint",
    }
)
"""Packages that a program runs in and seldom is. Of a path relative to ``site-packages`` nothing else
tells."""

_CACHED = 1 << 16


@dataclass(frozen=True, slots=True)
class PythonFrame:
    """One frame of a stack: a file as the trace names it, with forward slashes, and a line in it."""

    file: str
    line: int
    function: str = ""


@lru_cache(_CACHED)
def parse_frame(text: str) -> PythonFrame | None:
    """``file(line): function``; None for built-in functions and modules, which have no file."""
    match = _FRAME.fullmatch(text)
    return None if match is None else _frame(match["file"], match["line"], match["function"])


@lru_cache(_CACHED)
def parse_call(text: str) -> PythonFrame | None:
    """``file:line``, as ``CallFrom`` has it."""
    match = _CALL.fullmatch(text)
    return None if match is None else _frame(match["file"], match["line"], "")


@lru_cache(_CACHED)
def parse_stack(text: str) -> tuple[PythonFrame, ...]:
    """Frames joined with semicolons, innermost first."""
    return tuple(frame for frame in map(parse_frame, text.split(";")) if frame is not None)


def _frame(file: str, line: str, function: str) -> PythonFrame:
    return PythonFrame(sys.intern(file.replace("\\", "/")), int(line), sys.intern(function))


@lru_cache(_CACHED)
def is_library(file: str) -> bool:
    """Whether a file is Python's own or an installed package's, as far as its name tells."""
    if file.startswith("<") or any(folder in file for folder in LIBRARY_FOLDERS):
        return True
    top = PurePosixPath(file).parts[:1]
    name = top[0].removesuffix(".py") if top else ""
    return name in sys.stdlib_module_names or name in LIBRARIES
