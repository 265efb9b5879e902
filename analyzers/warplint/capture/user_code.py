"""Which code is the user's own: the lines that costs are charged to."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import CodeType

SITE_FOLDERS = frozenset({"site-packages", "dist-packages"})
PACKAGE = Path(__file__).resolve().parents[1]


class UserCode:
    """Tells the user's code from libraries by the file it was compiled from.

    A file is the user's when it lies under one of ``folders`` (the project root, the script's folder), and
    belongs neither to the standard library, nor to an installed package, nor to a virtual environment, nor to
    Warplint. Packages named in ``include`` are the user's wherever they are. ``cwd`` is where the program was
    started, which relative file names count from.
    """

    def __init__(self, folders: Iterable[Path], include: Iterable[str], cwd: Path) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self._cwd = cwd
        self._foreign = [PACKAGE, *_interpreter_folders()]
        self.missing: list[str] = []
        """Included packages that cannot be found."""
        self._included = [place for name in include for place in self._package_places(name)]
        self._known: dict[str, bool] = {}

    def holds(self, code: CodeType) -> bool:
        filename = code.co_filename
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = self.holds_file(filename)
        return known

    def holds_file(self, filename: str) -> bool:
        if filename.startswith("<"):
            return False
        path = self.absolute(filename).resolve()
        if _within(path, self._included):
            return True
        if not _within(path, self._folders) or _within(path, self._foreign):
            return False
        return SITE_FOLDERS.isdisjoint(path.parts)

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


def _interpreter_folders() -> list[Path]:
    paths = sysconfig.get_paths()
    folders = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    # A virtual environment often lies inside the project, and all of it is foreign. A system prefix such as
    # /usr says nothing: a container's program may live under it.
    if sys.prefix != sys.base_prefix:
        folders.add(sys.prefix)
    return [Path(folder).resolve() for folder in folders]


def _within(path: Path, places: list[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)
