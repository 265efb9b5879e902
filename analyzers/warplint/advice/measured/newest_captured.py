"""The newest captures of projects, joined with texts: for who looks at many files, time and again."""

from __future__ import annotations

from pathlib import Path

from warplint.advice.measured.join import Captured, findings, join
from warplint.project.engine import Checked, Engine, capture_name
from warplint.project.newest import NewestProfile
from warplint.source.records import dataclass
from warplint.static.finding import Finding


class NewestCaptures:
    """One capture a root, opened again only once there is a newer one."""

    def __init__(self) -> None:
        self._newest: dict[Path, NewestProfile] = {}
        self._captured: dict[Path, Captured] = {}

    def of(self, root: Path) -> Captured | None:
        """The same object for as long as it is the same capture; None without one that measured anything.

        Raises capture.layout.LayoutError when there are captures and none can be read.
        """
        profile = self._newest.setdefault(root, NewestProfile(root)).get()
        if profile is None or not profile.lines:
            return None
        known = self._captured.get(root)
        if known is None or known.profile is not profile:
            known = self._captured[root] = Captured(profile)
        return known


@dataclass(frozen=True, slots=True)
class Measuring:
    """Joins what is found in a file with a capture of the project at ``root``."""

    captured: Captured
    root: Path

    def concerns(self, path: Path) -> bool:
        """Whether any line of a file was measured."""
        return capture_name(path, self.root) in self.captured.files

    def __call__(self, engine: Engine, checked: Checked) -> tuple[Finding, ...]:
        costs = engine.costs(checked.source, self.captured.profile, self.root)
        return findings(join(engine, checked, self.captured, costs, self.root))
