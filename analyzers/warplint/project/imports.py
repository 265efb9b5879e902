"""Where imports lead among the files of a project: found on the disk, read, and never run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from warplint.project.root import project_root
from warplint.source.digests import digest
from warplint.source.text import SourceError, SourceText
from warplint.static.files import PACKAGE, Found
from warplint.static.tables.libraries import is_library

LARGEST_BYTES = 1 << 20
"""A larger file is a table of data, and is not looked at on behalf of another one."""
MOST_ENTRIES = 10_000
"""A folder with more entries holds data, and no modules."""
MOST_FOLDERS = 12
"""How many folders above a file are looked at for what it imports."""
SOURCES = "src"
"""A folder of sources, beside which programs are started all the same."""

Stamp = tuple[int, int] | None


class ProjectFiles:
    """The files that imports can reach. What was seen once counts until ``changed`` is asked."""

    def __init__(self) -> None:
        self._edited: dict[Path, str] = {}
        self._texts: dict[Path, str | None] = {}
        self._folders: dict[Path, frozenset[str]] = {}
        self._digests: dict[Path, str] = {}
        self._starts: dict[Path, tuple[Path, ...]] = {}
        self._bounds: dict[Path, Path] = {}
        self._real: dict[Path, tuple[Path, Path]] = {}
        self._stamps: dict[Path, Stamp] = {}

    # Where names lead

    def find(self, importer: Path, target: str) -> Found:
        """Where an import leads, as if the program was started where its project usually is."""
        name = target.lstrip(".")
        names = tuple(name.split(".")) if name else ()
        dots = len(target) - len(name)
        if is_library(target):
            return Found(None, (), frozenset())
        looked_at: set[Path] = set()
        for start in self._relative(importer, dots) if dots else self._absolute(importer.parent):
            found = self._below(start, names, bool(dots), looked_at)
            # ``from datasets import load`` in datasets.py is about a library of that name.
            if found is not None and (dots or found[0] != importer):
                return Found(*found, frozenset(looked_at))
        return Found(None, (), frozenset(looked_at))

    def _below(
        self, start: Path, names: tuple[str, ...], is_package: bool, looked_at: set[Path]
    ) -> tuple[Path, tuple[str, ...]] | None:
        """The module that names lead to from a folder, and those names that are to be found in it."""
        folder = start
        for place, name in enumerate(names):
            entries = self._entries(folder, looked_at)
            inside = self._entries(folder / name, looked_at) if f"{name}/" in entries else frozenset()
            if f"{name}.py" in entries and PACKAGE not in inside:
                return folder / f"{name}.py", names[place + 1 :]
            if not any(entry.endswith((".py", "/")) for entry in inside):
                is_in_package = (place > 0 or is_package) and PACKAGE in entries
                return (folder / PACKAGE, names[place:]) if is_in_package else None
            folder /= name
        return (folder / PACKAGE, ()) if PACKAGE in self._entries(folder, looked_at) else (folder, ())

    def _relative(self, importer: Path, dots: int) -> Iterable[Path]:
        folders = importer.parents
        if dots > len(folders):
            return ()
        bound = self._bound(importer.parent)
        folder = folders[dots - 1]
        return (folder,) if folder.is_relative_to(bound) else ()

    def _absolute(self, folder: Path) -> tuple[Path, ...]:
        """The folders that absolute imports of a folder's files are looked for in, nearest first."""
        known = self._starts.get(folder)
        if known is None:
            bound = self._bound(folder)
            known = self._starts[folder] = tuple(self._path(self._above_packages(folder), bound)) or (bound,)
        return known

    def _path(self, folder: Path, bound: Path) -> Iterator[Path]:
        for _ in range(MOST_FOLDERS):
            if not folder.is_relative_to(bound):
                return
            yield folder
            if f"{SOURCES}/" in self._entries(folder, set()):
                yield folder / SOURCES
            folder = folder.parent

    def _above_packages(self, folder: Path) -> Path:
        """The folder that a package of which this one is a part can be imported from."""
        for _ in range(MOST_FOLDERS):
            if PACKAGE not in self._entries(folder, set()):
                break
            folder = folder.parent
        return folder

    def _bound(self, folder: Path) -> Path:
        """The folder that imports do not lead out of.

        Where nothing marks the project's root, that is the last folder above with Python files in it.
        """
        known = self._bounds.get(folder)
        if known is None:
            known = self._bounds[folder] = project_root(folder) or self._last_with_modules(folder)
        return known

    def _last_with_modules(self, folder: Path) -> Path:
        bound = self._above_packages(folder)
        for _ in range(MOST_FOLDERS):
            if not any(entry.endswith(".py") for entry in self._entries(bound.parent, set())):
                break
            bound = bound.parent
        return bound

    # What is on the disk

    def text(self, path: Path) -> str | None:
        """A module's text, as the editor has it where it is open; None where it cannot be read."""
        if path in self._edited:
            return self._edited[path]
        if path not in self._texts:
            data = self._read(path)
            self._texts[path] = None if data is None else _decoded(data, path)
        return self._texts[path]

    def digest(self, path: Path) -> str:
        """What tells a file's content, or the modules in a folder, from any other."""
        if path not in self._digests and path.suffix == ".py":
            self._read(path)
        elif path not in self._digests:
            names = "\n".join(sorted(self._entries(path, set())))
            self._digests[path] = _digest(names.encode("utf-8", "surrogateescape"))
        return self._digests[path]

    def _read(self, path: Path) -> bytes | None:
        """A file's bytes; what they are told by is kept, so that it is that of what was analysed."""
        self._stamps[path] = _stamp(path)
        data = self._data(path)
        self._digests[path] = _digest(b"" if data is None else b"." + data)
        return data

    def _data(self, path: Path) -> bytes | None:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_BYTES:
                return None
            return path.read_bytes() if self._is_inside(path) else None
        except (OSError, ValueError):
            return None

    def _is_inside(self, path: Path) -> bool:
        """Whether a file is in the project wherever links lead."""
        folder = path.parent
        if folder not in self._real:
            self._real[folder] = Path(os.path.realpath(folder)), Path(os.path.realpath(self._bound(folder)))
        real, bound = self._real[folder]
        if path.is_symlink():
            return Path(os.path.realpath(path)).is_relative_to(bound)
        return real.is_relative_to(bound)

    def _entries(self, folder: Path, looked_at: set[Path]) -> frozenset[str]:
        """The modules of a folder, as ``name.py``, and the folders in it, as ``name/``."""
        looked_at.add(folder)
        known = self._folders.get(folder)
        if known is None:
            self._stamps[folder] = _stamp(folder)
            known = self._folders[folder] = _listed(folder)
        return known

    # What changes

    def edit(self, path: Path, text: str | None) -> bool:
        """Take an editor's text for a file's content; None: the file's own again.

        Whether that is another text than the one that was last asked for.
        """
        seen = self._edited.get(path, self._texts.get(path))
        if text is None:
            self._edited.pop(path, None)
            return seen is not None and seen != self._texts.get(path)
        self._edited[path] = text
        return seen is not None and seen != text

    def changed(self) -> frozenset[Path]:
        """The files and folders that are no longer as they were seen; they are looked at anew from now on."""
        changed = frozenset(path for path, stamp in self._stamps.items() if _stamp(path) != stamp)
        for path in changed:
            del self._stamps[path]
            self._texts.pop(path, None)
            self._folders.pop(path, None)
            self._digests.pop(path, None)
        if changed:
            for known in (self._starts, self._bounds, self._real):
                known.clear()
        return changed


def _digest(data: bytes) -> str:
    return digest(data).hex()


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def _listed(folder: Path) -> frozenset[str]:
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number == MOST_ENTRIES:
                    return frozenset()
                stem, dot, suffix = entry.name.partition(".")
                if not stem.isidentifier() or suffix not in {"", "py"}:
                    continue
                if dot:
                    found.append(entry.name)
                elif stem != "__pycache__" and entry.is_dir():
                    found.append(f"{entry.name}/")
    except (OSError, ValueError):
        return frozenset()
    return frozenset(found)


def _decoded(data: bytes, path: Path) -> str | None:
    try:
        return SourceText.decode(data, path).text
    except SourceError:
        return None
