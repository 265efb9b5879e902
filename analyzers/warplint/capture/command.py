"""The command that ``warplint run`` is given: what it starts, and what to call it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?", re.IGNORECASE)
REFUSED_FLAGS = {
    "I": "it makes Python ignore PYTHONPATH, through which the capture comes in",
    "E": "it makes Python ignore PYTHONPATH, through which the capture comes in",
    "S": "it makes Python skip its site module, through which the capture comes in",
}
OPTIONS_WITH_VALUE = "WX"


@dataclass(frozen=True, slots=True)
class Command:
    """``argv`` is what is started; ``refusal`` says why it cannot be captured, if it cannot."""

    argv: list[str]
    name: str
    refusal: str | None = None


def make_command(words: Sequence[str], python: str | None) -> Command:
    """``words`` as the user gave them; a script or ``-m`` in first place gets a Python before it."""
    argv = list(words)
    if argv[0] == "-m" or argv[0].endswith(".py"):
        argv.insert(0, python or find_python())
    if not PYTHON.fullmatch(Path(argv[0]).name):
        return Command(argv, Path(argv[0]).stem)
    flags, program = _read_python(argv[1:])
    refused = [flag for flag in REFUSED_FLAGS if flag in flags]
    refusal = f"python was given -{refused[0]}: {REFUSED_FLAGS[refused[0]]}" if refused else None
    return Command(argv, program or "python", refusal)


def find_python() -> str:
    """For a bare script: the active environment's Python, else ours if it has torch, else that on PATH."""
    environment = os.environ.get("VIRTUAL_ENV")
    if environment:
        folder = "Scripts" if sys.platform == "win32" else "bin"
        active = shutil.which("python", path=str(Path(environment) / folder))
        if active:
            return active
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    return shutil.which("python") or shutil.which("python3") or sys.executable


def _read_python(arguments: Sequence[str]) -> tuple[str, str]:
    """The one-letter flags before the program, and the program's name."""
    flags = ""
    rest = iter(arguments)
    for argument in rest:
        if argument == "-":
            return flags, ""
        if not argument.startswith("-"):
            return flags, Path(argument).stem
        if argument.startswith("--"):
            if argument == "--check-hash-based-pycs":
                next(rest, None)
            continue
        for position, letter in enumerate(argument[1:], start=2):
            if letter == "c":
                return flags, ""
            if letter == "m":
                module = argument[position:] or next(rest, "")
                return flags, module.rpartition(".")[2]
            if letter in OPTIONS_WITH_VALUE:
                if not argument[position:]:
                    next(rest, None)
                break
            flags += letter
    return flags, ""
