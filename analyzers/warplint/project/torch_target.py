"""The torch that a program is checked for: what is right for one release may be wrong for another.

The configuration decides, else what the project asks for, else what is installed, else the newest release.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from warplint.project.root import MARKERS
from warplint.project.torch_bounds import bound_in
from warplint.source.records import dataclass
from warplint.static.torch_version import NEWEST, TorchVersion

METADATA = (".dist-info", ".egg-info")
"""The folder in which an installed package says what it is; its name has the version."""

PACKAGES = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "lib/python3*/dist-packages",
    "Lib/site-packages",
)
"""Where packages are below an environment's own folder, on all systems."""

ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
"""The variables that name the environment a shell has activated."""


@dataclass(frozen=True, slots=True)
class TorchTarget:
    """A release, and in a few words where it comes from."""

    version: TorchVersion
    origin: str


UNKNOWN = TorchTarget(NEWEST, "nothing names another")


class TorchTargets:
    """The torch of each folder: what the nearest project around it asks for, else what is installed."""

    def __init__(self, installed: TorchTarget | None = None, *, isolated: bool = False) -> None:
        """``installed`` is what there is where no file says more; looked up when it is first needed.

        ``isolated`` reads no file of any project.
        """
        self._installed = installed
        self._isolated = isolated
        self._by_folder: dict[Path, TorchTarget] = {}

    def of(self, folder: Path) -> TorchTarget:
        """``folder`` is absolute."""
        if self._isolated:
            return self.installed
        known = self._by_folder.get(folder)
        if known is None:
            known = self._by_folder[folder] = self._asked_for(folder)
        return known

    def _asked_for(self, folder: Path) -> TorchTarget:
        # Not Path.exists, which raises for a folder that is closed.
        is_root = any(os.path.exists(folder / marker) for marker in MARKERS)  # noqa: PTH110
        if is_root and (bound := bound_in(folder)) is not None:
            version, name = bound
            return TorchTarget(version, f"required in {folder / name}")
        # A part of a repository can do with what the whole asks for; what is outside is another project.
        if folder.parent == folder or os.path.exists(folder / ".git"):  # noqa: PTH110
            return self.installed
        return self.of(folder.parent)

    @property
    def installed(self) -> TorchTarget:
        if self._installed is None:
            self._installed = installed_here() or UNKNOWN
        return self._installed


def installed_here() -> TorchTarget | None:
    """The torch of the interpreter that runs, else of the environment that is activated in the shell."""
    found = _installed_in(Path(place) for place in sys.path if place)
    if found is not None:
        return found
    active = (Path(prefix) for name in ACTIVE if (prefix := os.environ.get(name)))
    return next((found for prefix in active if (found := _below(prefix)) is not None), None)


def installed_for(interpreter: Path) -> TorchTarget | None:
    """The torch of another interpreter's environment, which is not run for it."""
    return _below(interpreter.parent.parent) or _below(interpreter.parent)


def _below(prefix: Path) -> TorchTarget | None:
    return _installed_in(place for pattern in PACKAGES for place in prefix.glob(pattern))


def _installed_in(places: Iterable[Path]) -> TorchTarget | None:
    for place in places:
        try:
            entries = list(place.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("torch-") and entry.name.endswith(METADATA):
                version = TorchVersion.parse(entry.name.removeprefix("torch-"))
                if version is not None:
                    return TorchTarget(version, f"installed in {place}")
    return None
