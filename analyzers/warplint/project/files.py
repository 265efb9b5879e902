"""Which files a run checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from warplint.project.config import Config, aimed, config_in
from warplint.project.gitignore import NOTHING_IGNORED, Gitignores
from warplint.project.torch_target import TorchTargets
from warplint.source.records import dataclass

SUFFIXES = (".py", ".pyi", ".pyw", ".ipynb")
"""What is checked inside a folder, as ruff has it; a file that is named is checked whatever its suffix."""

EDITOR_LOCK = ".#"
"""Emacs marks a file being edited with a dangling link of its name after this."""

NO_FILE = "neither a file nor a folder"
_OPEN_FILES = (("/", "dev"), ("/", "proc"))
"""Beginnings of the paths by which a process is handed files that are open already."""

VENV_MARKER = "pyvenv.cfg"
"""A folder with this file in it is a virtual environment, whatever its name."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file to check, with the settings of its folder. ``path`` is absolute.

    ``data`` is its content where that does not come from the file, as on standard input.
    """

    path: Path
    config: Config
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A folder that cannot be listed, a link to nowhere or what is no file, with the reason."""

    path: Path
    reason: str
    config: Config


class Configs:
    """The settings of each folder: its own pyproject.toml's, else those of the folder above."""

    def __init__(
        self,
        override: Callable[[Config], Config] = lambda config: config,
        everywhere: Config | None = None,
        targets: TorchTargets | None = None,
    ) -> None:
        """``override`` puts the command line's choices on top of what a file says.

        ``everywhere`` takes the place of what any pyproject.toml says; ``targets`` know each folder's torch.
        """
        self._override = override
        self._everywhere = None if everywhere is None else override(everywhere)
        self._targets = targets or TorchTargets()
        self._said: dict[Path, Config] = {}
        self._by_folder: dict[Path, Config] = {}
        self._shared: dict[Config, Config] = {}

    def of(self, folder: Path) -> Config:
        """Raises ConfigError."""
        known = self._by_folder.get(folder)
        if known is None:
            known = aimed(self._everywhere or self._said_in(folder), folder, self._targets)
            # One object for all folders that agree: what is made from it is made once.
            known = self._by_folder[folder] = self._shared.setdefault(known, known)
        return known

    def _said_in(self, folder: Path) -> Config:
        """What the nearest file says."""
        known = self._said.get(folder)
        if known is None:
            own = config_in(folder)
            if own is not None:
                known = self._override(own)
            elif folder.parent != folder:
                known = self._said_in(folder.parent)
            else:
                known = self._override(Config(folder))
            self._said[folder] = known
        return known


def find_files(
    paths: Iterable[Path], configs: Configs, force_exclude: bool = False
) -> Iterator[Target | Unreadable]:
    """The files to check, each once: those named, and in named folders those with a Python suffix, by name.

    Excludes, and what git ignores, apply to what is found inside folders; to the named paths themselves only
    with ``force_exclude``.
    Links to folders are not followed, so a loop cannot arise. Raises ConfigError.
    """
    seen: set[Path] = set()
    ignored = Gitignores()
    for path in paths:
        absolute = Path(os.path.normpath(path.absolute()))
        is_folder = absolute.is_dir()
        config = configs.of(absolute if is_folder else absolute.parent)
        if force_exclude and left_out(absolute, is_folder, config, ignored):
            continue
        real = absolute.resolve()
        found = _walk(absolute, real, configs, ignored) if is_folder else [(real, _named(absolute, config))]
        for identity, item in found:
            if identity not in seen:
                seen.add(identity)
                yield item


def _named(path: Path, config: Config) -> Target | Unreadable:
    """A named path that is no folder. A shell's pipe (``<(…)``) has a writer; another may have none."""
    if path.is_fifo() and path.parts[:2] not in _OPEN_FILES:
        return Unreadable(path, NO_FILE, config)
    return Target(path, config)


def left_out(path: Path, is_folder: bool, config: Config, ignored: Gitignores) -> bool:
    """Whether a path, or a folder above it, is excluded or ignored by git. ``path`` is absolute."""
    if config.excluded.match(config.relative(path)):
        return True
    return config.respect_gitignore and ignored.leaves_out(path, is_folder)


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path


_Found = tuple[Path, "Target | Unreadable | _Folder"]


def _walk(
    start: Path, real_start: Path, configs: Configs, ignored: Gitignores
) -> Iterator[tuple[Path, Target | Unreadable]]:
    """What a folder holds, depth first and by name; each with its real path, by which repeats are told."""
    pending: list[_Found] = [(real_start, _Folder(start))]
    while pending:
        real, item = pending.pop()
        if isinstance(item, _Folder):
            pending += reversed(_list(item.path, real, configs, ignored))
        else:
            yield real, item


def _list(folder: Path, real: Path, configs: Configs, ignored: Gitignores) -> list[_Found]:
    """What one folder holds that is to be checked, listed or complained about, by name."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        return [(real, Unreadable(folder, error.strerror or str(error), configs.of(folder)))]
    names = {entry.name for entry in listed}
    if VENV_MARKER in names:
        return []
    config = configs.of(folder)
    base = config.relative(folder)
    prefix = "" if base == "." else f"{base}/"
    git = ignored.of(folder) if config.respect_gitignore else NOTHING_IGNORED
    return [
        found
        for entry in listed
        if (found := _classify(entry, folder, real, config))
        and not config.excluded.match_entry(prefix + entry.name)
        and not git.ignores(folder / entry.name, isinstance(found[1], _Folder))
    ]


def _classify(entry: os.DirEntry[str], folder: Path, real: Path, config: Config) -> _Found | None:
    """A folder to list, a file to check, what cannot be read; None for what does not concern us."""
    path, real_path = folder / entry.name, real / entry.name
    if entry.is_dir(follow_symlinks=False):
        return real_path, _Folder(path)
    if not entry.name.endswith(SUFFIXES) or entry.name.startswith(EDITOR_LOCK):
        return None
    if entry.is_symlink():
        if not path.exists():
            return real_path, Unreadable(path, "a symbolic link that leads nowhere", config)
        real_path = path.resolve()
    if real_path.is_dir():
        return None
    if not real_path.is_file():
        # Reading a named pipe would wait for whoever writes to it.
        return real_path, Unreadable(path, NO_FILE, config)
    return real_path, Target(path, config)
