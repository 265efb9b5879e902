"""What can stand in a capture's way: one function each, listed in ``CHECKS``."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from warplint.capture.shared_memory import REMEDY, WANTED_BYTES, too_small
from warplint.capture.tested import TESTED_TORCH, doubt, minor_version
from warplint.commands.doctor.facts import Facts

MONITORING_SINCE = (3, 12)
OUR_TOOL_IDS = ("3", "4")

OLDEST_DRIVER = {"11": (450, 80), "12": (525, 60), "13": (580, 65)}
"""CUDA's major version to the oldest Linux driver that runs it (CUDA Toolkit Release Notes, table 2)."""

OTHER_PROFILERS = {
    "CUDA_INJECTION64_PATH": "a tool is injected into CUDA (Nsight, or its like)",
    "NSYS_PROFILING_SESSION_ID": "the shell runs under Nsight Systems",
    "KINETO_USE_DAEMON": "torch's own profiler may be started from outside (dynolog)",
}
"""Variables to what they mean: only one tool at a time can trace CUDA's activity in a process."""


class Status(enum.Enum):
    """GOOD; NOTE changes nothing that is captured; LESS is captured than could be."""

    GOOD = "good"
    NOTE = "note"
    LESS = "less"


@dataclass(frozen=True)
class Check:
    """What was found, what it means for a capture, and what to do."""

    name: str
    status: Status
    found: str
    meaning: str = ""
    remedy: str = ""


def python(facts: Facts) -> Check:
    found = f"{facts.python} ({facts.executable})"
    if facts.version >= MONITORING_SINCE:
        return Check("Python", Status.GOOD, f"{found}: lines are followed by sys.monitoring")
    return Check(
        "Python",
        Status.LESS,
        f"{found}: lines are followed by sys.settrace",
        "Windows slow plain Python down more, threads that were already running have no lines, "
        "and steps of inference are not counted.",
        "Run the program with Python 3.12 or later.",
    )


def torch(facts: Facts) -> Check:
    if facts.torch is None:
        return Check(
            "torch",
            Status.LESS,
            f"cannot be imported: {facts.torch_error}" if facts.torch_error else "is not installed here",
            "The program runs unchanged, and nothing is captured.",
            "Name the program's Python with --python, or activate its environment.",
        )
    doubted = doubt(facts.torch)
    if doubted is None:
        return Check(
            "torch", Status.GOOD, f"{facts.torch}, tested {TESTED_TORCH[minor_version(facts.torch)]}"
        )
    return Check(
        "torch", Status.NOTE, doubted, "A capture is made all the same, and says what it could not record."
    )


def gpu(facts: Facts) -> Check | None:
    if facts.torch is None:
        return None
    remains = "Steps, lines and CPU time are captured; kernels, copies and waits are not."
    if facts.cuda is None and facts.hip is None:
        return Check("GPU", Status.LESS, "this torch is built for the CPU", remains, "Install a CUDA build.")
    if not facts.gpus:
        return Check("GPU", Status.LESS, "torch finds none that it can use", remains)
    if "CUDA" not in facts.activities:
        return Check("GPU", Status.LESS, "this torch was built without Kineto's GPU tracing", remains)
    return Check("GPU", Status.GOOD, f"{len(facts.gpus)} ({', '.join(sorted(set(facts.gpus)))})")


def driver(facts: Facts) -> Check | None:
    if facts.driver is None or facts.cuda is None:
        return None
    wanted = OLDEST_DRIVER.get(facts.cuda.partition(".")[0])
    version = tuple(int(part) for part in facts.driver.split(".")[:2] if part.isdecimal())
    if wanted is None or version >= wanted:
        return Check("driver", Status.GOOD, f"{facts.driver}, for torch's CUDA {facts.cuda}")
    return Check(
        "driver",
        Status.LESS,
        f"{facts.driver} is older than {'.'.join(map(str, wanted))}, which CUDA {facts.cuda} needs",
        "torch cannot use the GPU with it.",
        "Update the driver, or install a torch built for an older CUDA.",
    )


def nvml(facts: Facts) -> Check | None:
    if not facts.gpus or facts.hip is not None or facts.driver is not None:
        return None
    return Check(
        "NVML",
        Status.LESS,
        str(facts.nvml_error),
        "There are no samples of the device's memory, power and clocks; all else is captured.",
        "pip install nvidia-ml-py",
    )


def shared_memory(facts: Facts) -> Check | None:
    if facts.shm_bytes is None:
        return None
    small = too_small(facts.shm_bytes)
    if small is None:
        return Check("/dev/shm", Status.GOOD, f"{facts.shm_bytes >> 20} MB")
    return Check(
        "/dev/shm",
        Status.NOTE,
        f"{facts.shm_bytes >> 20} MB, less than {WANTED_BYTES >> 20} MB",
        "DataLoader workers hand batches over in it, and die with a bus error where it is full. "
        "A capture needs none of it.",
        REMEDY,
    )


def wsl(facts: Facts) -> Check | None:
    if not facts.in_wsl:
        return None
    return Check(
        "WSL2",
        Status.NOTE,
        facts.kernel,
        "Some figures of NVML are not there, and older drivers record no kernels under WSL: "
        "then steps, lines and CPU time remain, and the capture says so.",
        "Keep the Windows driver current.",
    )


def other_profilers(facts: Facts) -> Check | None:
    found = [f"{name} is set: {means}" for name, means in OTHER_PROFILERS.items() if name in facts.variables]
    if not found:
        return None
    return Check(
        "profilers",
        Status.LESS,
        "; ".join(found),
        "While another tool traces CUDA, kernels and copies cannot be recorded; lines and steps are.",
        "Run one profiler at a time.",
    )


def tool_ids(facts: Facts) -> Check | None:
    others = {tool: owner for tool, owner in facts.tools.items() if owner != "warplint"}
    if not others and not facts.traced:
        return None
    owners = ", ".join(sorted({*others.values(), *(["sys.settrace"] if facts.traced else [])}))
    if all(tool in others for tool in OUR_TOOL_IDS) or (facts.traced and facts.version < MONITORING_SINCE):
        return Check(
            "tracers",
            Status.LESS,
            f"{owners} follow this Python from its start",
            "No place is left to follow lines: no line has a cost.",
            "Run without them.",
        )
    return Check(
        "tracers", Status.NOTE, f"{owners} follow this Python too", "They and Warplint run side by side."
    )


def blocking_launches(facts: Facts) -> Check | None:
    if facts.variables.get("CUDA_LAUNCH_BLOCKING") != "1":
        return None
    return Check(
        "launches",
        Status.NOTE,
        "CUDA_LAUNCH_BLOCKING=1 is set",
        "Each launch waits for its kernel: the costs captured are those of a program that never runs ahead.",
        "Unset it.",
    )


CHECKS: tuple[Callable[[Facts], Check | None], ...] = (
    python,
    torch,
    gpu,
    driver,
    nvml,
    other_profilers,
    tool_ids,
    blocking_launches,
    shared_memory,
    wsl,
)


def level(facts: Facts) -> str:
    """What remains of a capture, in a phrase."""
    if facts.torch is None:
        return "nothing: only programs that import torch are captured"
    if not facts.traces_gpu:
        return "steps and lines with CPU time"
    if any(name in facts.variables for name in OTHER_PROFILERS if name != "KINETO_USE_DAEMON"):
        return "steps and lines, perhaps without kernels"
    return "steps, lines, and every kernel, copy and wait"
