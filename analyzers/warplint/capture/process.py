"""Who the captured process is: the PROCESS record."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from warplint import __version__
from warplint.capture.gpu.kineto import cuda_in_use
from warplint.capture.lines.timeline import Method
from warplint.capture.settings import Settings


@dataclass(frozen=True, slots=True)
class Rank:
    """The process's place in a distributed run; 0 of 1 outside one."""

    rank: int
    world: int
    local: int

    @classmethod
    def of_environment(cls) -> Rank:
        """As torchrun and every launcher after its fashion sets it."""
        return cls(_number("RANK", 0), _number("WORLD_SIZE", 1), _number("LOCAL_RANK", 0))


def describe(settings: Settings, rank: Rank, method: Method, driver: str | None) -> dict[str, Any]:
    """``device`` and ``driver`` are None until the program has started CUDA itself."""
    return {
        "pid": os.getpid(),
        "rank": rank.rank,
        "world": rank.world,
        "local_rank": rank.local,
        "argv": list(sys.orig_argv),
        "cwd": settings.cwd,
        "root": settings.root,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "warplint": __version__,
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name() if cuda_in_use() else None,
        "driver": driver,
        "timeline": method.value,
        "main_thread": threading.main_thread().native_id,
        "anchor": {"perf_ns": time.perf_counter_ns(), "unix_ns": time.time_ns()},
    }


def script_folder() -> Path | None:
    """The folder of the program's main file, where it has one."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return Path(file).absolute().parent if file else None


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else default
