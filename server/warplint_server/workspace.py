"""The projects of an editor window: one engine a root, however many folders and files are open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from warplint.project.root import MARKERS, find_root
from warplint.source.text import SourceText
from warplint_server.configurations import Configurations

if TYPE_CHECKING:
    from warplint.advice.measured.join import Captured, Joined
    from warplint.profile.follow import PlacedCost
    from warplint.profile.model import Profile
    from warplint.project.engine import Checked, Engine

LIBRARIES = frozenset({"site-packages", "dist-packages"})
"""Folders whose files are opened to be read: someone else's, wherever the environment lies."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the newest capture says of one text: costs by line, from 1; none without a capture."""

    profile: Profile | None = None
    costs: Mapping[int, PlacedCost] = field(default_factory=dict)


class Project:
    """One root. ``generation`` goes up when results made before no longer hold: a capture has come."""

    def __init__(self, root: Path, engine: Engine) -> None:
        self.root = root
        self.engine = engine
        self.generation = 0
        self.profile: Profile | None = None
        self._captured: Captured | None = None
        self.looked_for_captures = False
        """Whether ``profile`` is what there is; until then nothing is known of what lines cost."""

    def take(self, profile: Profile | None) -> bool:
        """Show the costs of this capture from now on; whether that changes anything.

        Called where documents are looked at again in the same breath: results that no longer hold and are not
        being made anew would count as failed.
        """
        if profile is self.profile or (profile is not None and not profile.lines):
            # A run that has only begun has measured nothing yet; what the last one did still stands.
            return False
        from warplint.advice.measured.join import Captured  # What joins is imported once there is a capture.

        self.profile = profile
        self._captured = Captured(profile) if profile is not None else None
        self.generation += 1
        return True

    def check(self, source: SourceText, previous: Checked | None) -> Checked:
        """What the engine says of a text; of one that is excluded, what it says of an empty one."""
        if self._excludes(source.path):
            return self.engine.check(SourceText("", source.path))
        return self.engine.check(source, previous)

    def _excludes(self, path: Path) -> bool:
        config = self.engine.config
        return config.excluded.match(config.relative(path)) or not LIBRARIES.isdisjoint(path.parts)

    def measured(self, source: SourceText) -> Measured:
        """Costs from the capture that has been opened; never waits for one."""
        profile = self.profile
        return Measured() if profile is None else Measured(profile, self.engine.costs(source, profile))

    def joined(self, checked: Checked, measured: Measured) -> tuple[Joined, ...]:
        """The findings with what was measured of them; empty without a capture."""
        captured = self._captured
        if captured is None or captured.profile is not measured.profile:
            return ()
        from warplint.advice.measured.join import join

        return tuple(join(self.engine, checked, captured, measured.costs))


class Workspace:
    """Finds the project of a path, and opens each once. Safe to call from any thread."""

    def __init__(
        self,
        folders: Sequence[Path],
        opened: Callable[[Project], None],
        warn: Callable[[str], None],
        log: Callable[[str], None],
        trusted: bool = False,
    ) -> None:
        """``opened`` hears of each new project; ``warn`` and ``log`` why a configuration is not used.

        Only with ``trusted`` are rule packs imported, which runs code in the folders.
        """
        self.folders = list(folders)
        self._projects: dict[Path, Project] = {}
        self._lock = Lock()
        self._opened = opened
        self._configurations = Configurations(warn, log, trusted)

    def project(self, path: Path) -> Project:
        root = self._root(path)
        with self._lock:
            project = self._projects.get(root)
            if project is None:
                project = self._projects[root] = Project(root, self._configurations.engine(root))
                self._opened(project)
        return project

    def change_folders(self, added: Iterable[Path], removed: Iterable[Path]) -> None:
        gone = set(removed)
        self.folders = [*(folder for folder in self.folders if folder not in gone), *added]

    def aim(self, interpreter: Callable[[Path], Path | None]) -> list[Project]:
        """Take over which interpreter runs the programs below each root; the projects that this closes."""
        with self._lock:
            return self._forget(self._configurations.aim(interpreter, self._projects))

    def opened_at(self, root: Path) -> Project | None:
        with self._lock:
            return self._projects.get(root)

    def close(self, folder: Path) -> list[Project]:
        """Forget the projects at or below a folder, so that their configuration is read anew."""
        with self._lock:
            return self._forget([root for root in self._projects if root.is_relative_to(folder)])

    def _forget(self, roots: Iterable[Path]) -> list[Project]:
        projects = [self._projects.pop(root) for root in roots]
        for project in projects:
            project.generation += 1
        return projects

    def _root(self, path: Path) -> Path:
        """The path's root; where nothing marks one, the innermost folder open in the editor around it.

        That is where the user ran the program, so its captures are there.
        """
        root = find_root(path)
        if any((root / marker).exists() for marker in MARKERS):
            return root
        around = [folder for folder in self.folders if path.is_relative_to(folder)]
        return max(around, key=lambda folder: len(folder.parts), default=root)
