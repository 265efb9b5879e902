"""Follows the worker processes of the program's DataLoaders. The only file that knows torch's worker loop.

``torch.utils.data._utils.worker._worker_loop`` is what every worker runs. While the program is captured, a
``FollowedLoop`` stands in its place: the same call, between two stand-ins for the worker's queues that tell
when a fetch begins and ends. Nothing of ours is on the stack within a fetch, so tracebacks are as without us.
A forked worker inherits it; a worker that is spawned, or forked from a server, gets it with the arguments of
its process, and brings this package with it. Where torch's loop is not as we know it, workers are left alone.
"""

from __future__ import annotations

import inspect
import json
import operator
import os
import pkgutil
import runpy
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from warplint.capture.collector import at_rest
from warplint.capture.layout import WORKER_SUFFIX, Record, worker_name
from warplint.capture.lines.loaded_modules import LoadedModules
from warplint.capture.lines.sources import Sources
from warplint.capture.lines.user_code import UserCode
from warplint.capture.recorder import Recorder
from warplint.capture.settings import Settings
from warplint.capture.workers.fetch_lines import Stamps
from warplint.capture.workers.functions import Surroundings
from warplint.capture.workers.samples import WorkerSamples

MODULE, NAME = "torch.utils.data._utils.worker", "_worker_loop"
NEEDED = frozenset(
    {"index_queue", "data_queue", "dataset", "collate_fn", "auto_collation", "worker_id", "num_workers"}
)
"""Arguments of the loop that we read or stand in for; without one of them workers are left alone."""
ENTRANCE = Path(__file__).parents[1] / "bootstrap" / "loader_worker.py"
MAX_FILES = 32
"""Of one captured process: a loader without persistent workers starts new ones every epoch. The first and the
last half are kept."""
MAX_WRAPPERS = 8
"""How many datasets of torch's own, one around the other, are looked into."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a worker must know of the process that starts it. Paths are absolute."""

    folder: str
    cwd: str
    code_folders: list[str]
    include: list[str]
    rank: int
    parent: int
    """Process id of the captured process."""
    started: float
    """The program's start, in Unix seconds."""

    @classmethod
    def of(
        cls, settings: Settings, code_folders: list[Path], rank: int, parent: int, started: float
    ) -> WorkerSettings:
        folders = [str(folder.absolute()) for folder in code_folders]
        return cls(settings.folder, settings.cwd, folders, settings.include, rank, parent, started)

    def module_folders(self) -> list[str]:
        """What the path of a module of the user's may begin with."""
        folders = {*self.code_folders, *map(os.path.realpath, self.code_folders)}
        return [str(Path(folder)) + os.sep for folder in folders]

    def dump(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> WorkerSettings:
        return cls(**json.loads(text))


class FollowedWorkers:
    """Puts the followed loop in torch's place, and torch's own back."""

    def __init__(self, settings: WorkerSettings, user_code: UserCode) -> None:
        self._settings = settings
        self._known = Known(LoadedModules(settings.module_folders()), user_code)
        self._original: Callable[..., None] | None = None

    def install(self) -> None:
        module = sys.modules.get(MODULE)
        original = getattr(module, NAME, None)
        if callable(original) and not isinstance(original, FollowedLoop) and _is_known(original):
            self._original = original
            setattr(module, NAME, FollowedLoop(original, self._settings, self._known))

    def before_fork(self) -> None:
        """Find out here what a forked worker then need not."""
        if self._original is not None:
            with suppress(Exception):
                self._known.modules.look()

    def remove(self) -> None:
        original, self._original = self._original, None
        module = sys.modules.get(MODULE)
        # One that was put on after ours calls it, and stays.
        if original is not None and isinstance(getattr(module, NAME, None), FollowedLoop):
            setattr(module, NAME, original)


@dataclass(frozen=True, slots=True)
class Known:
    """What a forked worker has from its parent, and one that is spawned must find out."""

    modules: LoadedModules
    user_code: UserCode

    @classmethod
    def by(cls, settings: WorkerSettings) -> Known:
        code = UserCode(map(Path, settings.code_folders), settings.include, Path(settings.cwd))
        return cls(LoadedModules(settings.module_folders()), code)


class FollowedLoop:
    """The target of a worker's process."""

    def __init__(
        self, original: Callable[..., None], settings: WorkerSettings, known: Known | None = None
    ) -> None:
        self._original = original
        self._settings = settings
        self._known = known

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        samples: WorkerSamples | None = None
        with suppress(Exception), at_rest():
            known = self._known or Known.by(self._settings)
            samples, arguments = _follow(self._original, self._settings, known, args, kwargs)
            args, kwargs = arguments.args, arguments.kwargs
        try:
            self._original(*args, **kwargs)
        finally:
            if samples is not None:
                with suppress(Exception):
                    samples.close()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A new interpreter knows neither us nor where we are: what it unpickles runs our file by its
        path."""
        if not ENTRANCE.is_file():
            return pkgutil.resolve_name, (f"{MODULE}:{NAME}",)
        return operator.getitem, (_Run({"SETTINGS": self._settings.dump()}), "worker_loop")


class _Run:
    """Pickled, it is what running the entrance leaves in its globals."""

    def __init__(self, given: dict[str, str]) -> None:
        self._given = given

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return runpy.run_path, (str(ENTRANCE), self._given)


def followed_loop(settings: str) -> Callable[..., None]:
    """What a new interpreter is to run as worker: torch's loop, followed where it can be."""
    original: Callable[..., None] = pkgutil.resolve_name(f"{MODULE}:{NAME}")
    return FollowedLoop(original, WorkerSettings.load(settings)) if _is_known(original) else original


class _Tasks:
    """Stands in for the queue that a worker gets its tasks from."""

    def __init__(self, queue: Any, samples: WorkerSamples, auto_collation: bool) -> None:
        self._queue, self._samples, self._auto_collation = queue, samples, auto_collation

    def get(self, *args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):
            self._samples.asks()
        task = self._queue.get(*args, **kwargs)
        # Anything but a number and what to fetch is a message about the loop itself.
        if type(task) is tuple:
            with suppress(Exception):
                items = len(task[1]) if self._auto_collation else 1
                self._samples.begins(items, sys._getframe(1))
        return task

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


class _Results:
    """Stands in for the queue that a worker puts its batches into."""

    UNFETCHED = frozenset({"ExceptionWrapper", "_IterableDatasetStopIteration", "NoneType"})

    def __init__(self, queue: Any, samples: WorkerSamples) -> None:
        self._queue, self._samples = queue, samples

    def put(self, result: Any, *args: Any, **kwargs: Any) -> Any:
        followed = False
        with suppress(Exception):
            followed = self._samples.ends(type(result[1]).__name__ not in self.UNFETCHED)
        answer = self._queue.put(result, *args, **kwargs)
        if followed:
            with suppress(Exception), at_rest():
                self._samples.write()
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


def _is_known(loop: Callable[..., None]) -> bool:
    try:
        return set(inspect.signature(loop).parameters) >= NEEDED
    except (TypeError, ValueError):
        return False


def _follow(
    original: Callable[..., None],
    settings: WorkerSettings,
    known: Known,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[WorkerSamples, inspect.BoundArguments]:
    """Open the worker's file; the loop's arguments with the stand-ins among them."""
    bound = inspect.signature(original).bind(*args, **kwargs)
    given = bound.arguments
    path = _new_file(settings)
    recorder = Recorder(path, _do_nothing)
    user = known.user_code
    packages = _packages(given["dataset"], given["collate_fn"])
    samples = WorkerSamples(
        recorder,
        Sources(recorder, user, settings.started),
        Stamps(user, UserCode([], packages, Path(settings.cwd))),
        Surroundings(
            known.modules,
            frozenset([*packages, *(name.partition(".")[0] for name in settings.include)]),
            (given["collate_fn"], *_innermost(given["dataset"])),
        ),
    )
    recorder.json(
        Record.WORKER,
        {
            "pid": os.getpid(),
            "parent": settings.parent,
            "rank": settings.rank,
            "worker": given["worker_id"],
            "workers": given["num_workers"],
            "dataset": type(given["dataset"]).__qualname__,
            "t_ns": time.perf_counter_ns(),
            "packages": packages,
        },
    )
    given["index_queue"] = _Tasks(given["index_queue"], samples, bool(given["auto_collation"]))
    given["data_queue"] = _Results(given["data_queue"], samples)
    return samples, bound


def _new_file(settings: WorkerSettings) -> Path:
    """A place for this worker's file; where there are too many, the one in the middle goes."""
    folder = Path(settings.folder)
    path = folder / worker_name(settings.rank, settings.parent, os.getpid())
    files = list(folder.glob(f"rank{settings.rank}.{settings.parent}.*{WORKER_SUFFIX}"))
    if len(files) >= MAX_FILES:
        files.sort(key=lambda file: file.stat().st_mtime_ns)
        files[MAX_FILES // 2].unlink()
    return path


def _packages(dataset: object, collate: object) -> list[str]:
    """The installed packages whose lines are shown where none of the user's runs: those that made these
    two."""
    owners = [*_innermost(dataset), collate]
    modules = [getattr(owner, "__module__", None) or type(owner).__module__ for owner in owners]
    roots = {str(module).partition(".")[0] for module in modules}
    return sorted(roots - {"torch", "builtins", "__main__", "__mp_main__"} - sys.stdlib_module_names)


def _innermost(dataset: Any) -> list[object]:
    """The datasets that torch's own wrappers (Subset, ConcatDataset) are around."""
    found, left = [], [dataset]
    for _ in range(MAX_WRAPPERS):
        if not left:
            break
        one = left.pop()
        inner = [getattr(one, "dataset", None), *list(getattr(one, "datasets", ()))[:MAX_WRAPPERS]]
        inner = [each for each in inner if each is not None]
        if type(one).__module__.partition(".")[0] == "torch" and inner:
            left.extend(inner)
        else:
            found.append(one)
    return found


def _do_nothing() -> None:
    """The worker goes on without its file."""
