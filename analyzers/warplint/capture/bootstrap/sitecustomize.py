"""Runs at the start of every Python under ``warplint run``, before the program, and hides that it did.

It stands on PYTHONPATH, takes itself off ``sys.path``, arms a capture that begins once the program imports
torch, and runs the ``sitecustomize`` that Python would have run without it. Any Python that the program
starts reads it, so it uses little of the library, and nothing of Warplint until torch is there.

Who is captured: a process that imports torch, unless what started it is captured itself. Until then what we
put into the environment is passed on, so wrappers and launchers need no help; launchers that import torch for
their own use are known by name, and stay out. Spawned workers of ``multiprocessing`` stay out too.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # the name type checkers know; importing typing would double the time this file takes
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# pathlib costs as much as the rest of this file.
HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))  # noqa: PTH120
SETTINGS = "WARPLINT_CAPTURE"
OLDEST = (3, 10)

LAUNCHERS = frozenset(
    {
        "accelerate",
        "accelerate.commands.accelerate_cli",
        "accelerate.commands.launch",
        "deepspeed",
        "deepspeed.launcher.launch",
        "deepspeed.launcher.runner",
        "torch.distributed.launch",
        "torch.distributed.run",
        "torchrun",
    }
)
"""Scripts and modules that start the processes which train."""
OPTIONS_WITH_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})


def enter() -> None:
    sys.path[:] = [entry for entry in sys.path if entry != HERE]
    sys.path_importer_cache.pop(HERE, None)
    settings = os.environ.get(SETTINGS)
    if settings is not None and sys.version_info >= OLDEST and may_capture(sys.orig_argv[1:]):
        sys.meta_path.insert(0, TorchFinder(settings))
    run_hidden_sitecustomize()


def may_capture(arguments: list[str]) -> bool:
    """Whether to wait for torch in this process. ``arguments`` are Python's own and the program's."""
    return program_of(arguments) not in LAUNCHERS and "--multiprocessing-fork" not in arguments


def program_of(arguments: list[str]) -> str:
    """The module after -m, or the script's file name; empty for code from -c or standard input."""
    rest = iter(arguments)
    for argument in rest:
        if argument == "-m":
            return next(rest, "")
        if argument in OPTIONS_WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            return os.path.basename(argument)  # noqa: PTH119
        elif argument.startswith("-c") or argument == "-":
            break
    return ""


def clean_environment() -> None:
    """Make ``os.environ`` what the user made it, for the program and its children."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    left = [entry for entry in entries if entry != HERE]
    if any(left):
        os.environ["PYTHONPATH"] = os.pathsep.join(left)
    else:
        os.environ.pop("PYTHONPATH", None)
    os.environ.pop(SETTINGS, None)


class TorchFinder:
    """On ``sys.meta_path`` until the program imports torch: begins the capture when torch is whole."""

    def __init__(self, settings: str) -> None:
        self.settings = settings

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)
        else:
            self.follow(spec.loader)
        return spec

    def follow(self, loader: Loader) -> None:
        """Have the loader, once, call ``begin`` when it has executed the module."""
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            try:
                execute(module)
            except BaseException:
                sys.meta_path.insert(0, self)
                raise
            begin(self.settings)

        loader.exec_module = exec_module  # type: ignore[method-assign]


def begin(settings: str) -> None:
    """Hand over to the capture itself. Its failure must not be that of the program's ``import torch``."""
    import gc

    clean_environment()
    # What we load is to bring on no collection of the program's garbage: as capture/collector.py does.
    collects = gc.isenabled()
    gc.disable()
    try:
        load_warplint()
        from warplint.capture.entry import begin as begin_capture

        begin_capture(settings)
    except Exception as error:
        if os.isatty(2):
            os.write(2, f"warplint: nothing is captured, the program runs on: {error!r}\n".encode())
    finally:
        if collects:
            gc.enable()


def load_warplint() -> None:
    """Import the package this file belongs to, wherever it lies, without a trace on ``sys.path``."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    loaded = sys.modules.get("warplint")
    if loaded is not None:
        if os.path.dirname(os.path.dirname(str(loaded.__file__))) != PACKAGES:  # noqa: PTH120
            raise ImportError(f"the program has imported another Warplint, {loaded.__file__}")
        return
    spec = PathFinder.find_spec("warplint", [PACKAGES])
    if spec is None or spec.loader is None:
        raise ImportError(f"{PACKAGES} holds no Warplint")
    module = sys.modules["warplint"] = module_from_spec(spec)
    spec.loader.exec_module(module)


def run_hidden_sitecustomize() -> None:
    """Run the ``sitecustomize`` that ours stood before; what it raises is for Python's ``site`` to handle."""
    for finder in sys.meta_path:
        spec = finder.find_spec("sitecustomize", None)
        if spec is not None and spec.loader is not None:
            from importlib.util import module_from_spec

            module = sys.modules["sitecustomize"] = module_from_spec(spec)
            spec.loader.exec_module(module)
            return


enter()
