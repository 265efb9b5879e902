"""Which Warplint runs, and in what order modules are looked for.

Our libraries come before the environment's, always: an old attrs or pygls there must not reach the server.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Literal

BUNDLED = Path(__file__).resolve().parents[1]
LIBRARIES = BUNDLED / "libs"
LIBCST = BUNDLED / "libcst"
"""Only in the extension files made for one platform."""
PACKAGED_WARPLINT = BUNDLED / "warplint"
REPOSITORY = BUNDLED.parents[1]
SOURCES = tuple(REPOSITORY / folder for folder in ("analyzers", "rules", "server"))

WARPLINT = ("warplint", "warplint_rules", "warplint_server")

OLDEST_WARPLINT = (0, 1, 0)
"""The first whose server sends the extension what it draws."""

VERSION = re.compile(r"""^__version__ = ["'](?P<numbers>\d+(?:\.\d+)*)""", re.MULTILINE)


class Strategy(Enum):
    """The setting ``warplint.importStrategy``."""

    FROM_ENVIRONMENT = "fromEnvironment"
    USE_BUNDLED = "useBundled"


Origin = Literal["bundled", "environment"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which Warplint is imported; ``remark`` says why the environment's own, which is there, is not."""

    origin: Origin
    remark: str | None = None


def enter(strategy: Strategy) -> Choice:
    """Set ``sys.path``. Nothing of Warplint's or of its libraries may have been kept from before."""
    # Python puts the script's folder first; the folders in it would be taken for packages of their names.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != BUNDLED]
    forget({*WARPLINT, "libcst", *top_level_names(LIBRARIES)})
    choice = choose(strategy)
    folders = [LIBRARIES]
    if fits_this_python(LIBCST):
        folders.append(LIBCST)
    if choice.origin == "bundled":
        folders += [PACKAGED_WARPLINT] if PACKAGED_WARPLINT.is_dir() else SOURCES
    sys.path[:0] = [str(folder) for folder in folders if folder.is_dir()]
    return choice


def forget(names: set[str]) -> None:
    """Drop modules that the environment imported at start-up (.pth files and sitecustomize can)."""
    for module in list(sys.modules):
        if module.partition(".")[0] in names:
            del sys.modules[module]


def top_level_names(folder: Path) -> Iterable[str]:
    return [entry.stem for entry in folder.iterdir()] if folder.is_dir() else []


def choose(strategy: Strategy) -> Choice:
    if strategy is Strategy.USE_BUNDLED:
        return Choice("bundled")
    specs = [importlib.util.find_spec(name) for name in WARPLINT]
    origin = specs[0].origin if specs[0] else None
    if origin is None or None in specs:
        return Choice("bundled")
    version = VERSION.search(Path(origin).read_text(encoding="utf-8"))
    if version is None or numbers(version["numbers"]) < OLDEST_WARPLINT:
        oldest = ".".join(map(str, OLDEST_WARPLINT))
        found = version["numbers"] if version else "of no version"
        return Choice("bundled", f"the environment's own Warplint is {found}; this extension needs {oldest}")
    return Choice("environment")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def fits_this_python(folder: Path) -> bool:
    """Whether the libcst in a folder has a native module that this Python can load."""
    return any((folder / "libcst" / f"native{suffix}").is_file() for suffix in EXTENSION_SUFFIXES)
