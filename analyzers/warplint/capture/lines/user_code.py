"""Which code is the user's own: the lines that costs are charged to."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import CodeType

SITE_FOLDERS = frozenset({"site-packages", "dist-packages"})
PACKAGE = Path(__file__).resolve().parents[2]


class UserCode:
    """Tells the user's code from libraries by the file it was compiled from.

    A file is the user's when it lies under one of ``folders`` (the project root, the script's folder), and
    belongs neither to the standard library, nor to an installed package, nor to a virtual environment, nor to
    Warplint. Packages named in ``include`` are the user's wherever they are. ``cwd`` is where the program was
    started, which relative file names count from.
    """

    def __init__(self, folders: Iterable[Path], include: Iterable[str], cwd: Path) -> None:
        self._folders = _prefixes(folder.resolve() for folder in folders)
        self._cwd = cwd
        self._foreign = _prefixes([PACKAGE, *_interpreter_folders()])
        self.missing: list[str] = []
        """Included packages that cannot be found."""
        self._included = _prefixes(place for name in include for place in self._package_places(name))
        self._known: dict[str, bool] = {}
        self._real_folders: dict[str, str] = {}

    def holds(self, code: CodeType) -> bool:
        return self.holds_file(code.co_filename)

    def holds_file(self, filename: str) -> bool:
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = self._judge(filename)
        return known

    def _judge(self, filename: str) -> bool:
        if filename.startswith("<"):
            return False
        path = self._resolve(filename)
        if path.startswith(self._included):
            return True
        if not path.startswith(self._folders) or path.startswith(self._foreign):
            return False
        return SITE_FOLDERS.isdisjoint(Path(path).parts)

    def _resolve(self, filename: str) -> str:
        """The real path. A program has thousands of modules in few folders, which are resolved once each."""
        absolute = os.path.join(self._cwd, filename)  # noqa: PTH118
        if os.path.islink(absolute):  # noqa: PTH114
            return os.path.realpath(absolute)
        folder, name = os.path.split(absolute)
        real = self._real_folders.get(folder)
        if real is None:
            real = self._real_folders[folder] = os.path.realpath(folder) + os.sep
        return real + name

    def absolute(self, filename: str) -> Path:
        return self._cwd / filename

    def _package_places(self, name: str) -> list[Path]:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is None or (spec.origin is None and not spec.submodule_search_locations):
            self.missing.append(name)
            return []
        places = spec.submodule_search_locations or [str(spec.origin)]
        return [Path(place).resolve() for place in places]


@functools.cache
def _interpreter_folders() -> list[Path]:
    paths = sysconfig.get_paths()
    folders = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    # A virtual environment often lies inside the project, and all of it is foreign. A system prefix such as
    # /usr says nothing: a container's program may live under it.
    if sys.prefix != sys.base_prefix:
        folders.add(sys.prefix)
    return [Path(folder).resolve() for folder in folders]


def _prefixes(places: Iterable[Path]) -> tuple[str, ...]:
    """What the paths of a place's files begin with; a place that is itself a file stands for itself."""
    return tuple(str(place) if place.is_file() else str(place).rstrip(os.sep) + os.sep for place in places)
