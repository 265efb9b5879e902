"""``warplint check --with-profile``: findings joined with what a capture measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from warplint.advice.measured.join import GPU_LOST, NO_STEP, ON_CPU, Captured, findings, join
from warplint.capture.layout import (
    CAPTURES_DIRECTORY,
    MANIFEST,
    RAW_SUFFIX,
    STORE,
    WORKER_SUFFIX,
    LayoutError,
)
from warplint.profile.store import open_profile
from warplint.project.config import ConfigError
from warplint.project.engine import Checked, Engine
from warplint.project.files import Target, Unreadable
from warplint.project.newest import NewestProfile
from warplint.project.result import FileResult, shown
from warplint.project.root import find_root
from warplint.source.records import dataclass, replace
from warplint.static.finding import Finding

WITHOUT_GPU = {
    ON_CPU: "the capture is of a CPU",
    GPU_LOST: "its GPU records are missing",
    NO_STEP: "no step was captured",
}
"""Why findings are not judged, said of a whole capture."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """Joins the findings of each project's files with a capture: ``folders`` are root and capture.

    It crosses to worker processes, each of which opens the captures for itself.
    """

    folders: tuple[tuple[Path, Path], ...]

    @property
    def without_gpu(self) -> tuple[tuple[Path, str], ...]:
        """The captures that show nothing of a GPU, and so nothing of what findings cost; why, in a phrase."""
        captures = dict.fromkeys(capture for _, capture in self.folders)
        reasons = ((each, _opened(each).without_gpu) for each in captures)
        return tuple((each, WITHOUT_GPU[reason]) for each, reason in reasons if reason is not None)

    def __call__(self, engine: Engine, checked: Checked) -> tuple[Finding, ...]:
        source = checked.source
        root = _root(source.path.parent)
        folder = dict(self.folders).get(root)
        if folder is None:
            return checked.findings
        captured = _opened(folder)
        costs = engine.costs(source, captured.profile, root)
        return findings(join(engine, checked, captured, costs, root))


def is_meant_as_capture(path: Path) -> bool:
    """Whether what follows ``--with-profile`` is a capture, or what is left of one, and no code to check."""
    if CAPTURES_DIRECTORY in path.absolute().parts:
        return True
    left = (MANIFEST, STORE, f"*{RAW_SUFFIX}", f"*{WORKER_SUFFIX}")
    return any(next(path.glob(pattern), None) is not None for pattern in left)


def measuring(capture: Path | None, items: Iterable[Target | Unreadable], paths: Sequence[Path]) -> Measuring:
    """With one capture for all, or the newest of each project that has one. ``paths`` are those named.

    Raises ConfigError when there is none, or it cannot be read.
    """
    roots = sorted({_root(item.path.parent) for item in items})
    if capture is not None:
        _require(capture)
        return Measuring(tuple((root, capture) for root in roots))
    folders = [shown(path) for path in paths if path.is_dir()]
    if folders and not roots:
        raise ConfigError(f"--with-profile: neither captures nor Python files in {', '.join(folders)}")
    found = tuple((root, folder) for root in roots if (folder := _newest(root)) is not None)
    if roots and not found:
        where = ", ".join(map(shown, roots)) or "."
        raise ConfigError(
            f"--with-profile: no capture that measured anything under {where}; make one with "
            "`warplint run -- python train.py`"
        )
    return Measuring(found)


def by_cost(results: Iterable[FileResult]) -> Iterator[FileResult]:
    """The findings of all files one by one, dearest first; those of no known cost keep their order."""
    single = [replace(result, findings=(finding,)) for result in list(results) for finding in result.findings]
    return iter(sorted(single, key=_dearest_first))


def _dearest_first(result: FileResult) -> float:
    measured = result.findings[0].measured
    return -measured.cost_us if measured is not None else 0.0


def _newest(root: Path) -> Path | None:
    """The newest capture under a root that measured something. Raises ConfigError where none can be read."""
    newest = NewestProfile(root)
    try:
        profile = newest.get()
    except LayoutError as error:
        raise ConfigError(f"--with-profile: {error}") from None
    return root / CAPTURES_DIRECTORY / profile.name if profile is not None and profile.lines else None


@lru_cache(maxsize=1024)
def _root(folder: Path) -> Path:
    """The project that a folder's programs ran in: their captures are there."""
    return find_root(folder)


def _require(capture: Path) -> None:
    try:
        _opened(capture)
    except LayoutError as error:
        raise ConfigError(f"--with-profile: {error}") from None


@lru_cache(maxsize=8)
def _opened(folder: Path) -> Captured:
    return Captured(open_profile(folder))


def forget() -> None:
    """Open captures anew: for who goes on after a run."""
    _opened.cache_clear()
