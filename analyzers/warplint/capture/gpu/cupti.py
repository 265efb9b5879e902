"""Has Kineto let go of CUPTI, the GPU's tracer, after a window.

CUPTI stays attached by default, and a program that launches many small kernels then runs a third slower until
it ends (bench/results/h200/cupti.txt). Kineto detaches it where the C environment says so; torch itself
forbids that beside Inductor's CUDA graphs before CUDA 12.6, with which detaching crashed.

Kineto lets go in the middle of the next call of CUDA's, whoever makes it. When a window closes because the
program ends, that would be one of those that take CUDA itself down: such a window asks for nothing.
"""

from __future__ import annotations

import os

import torch

VARIABLE = "TEARDOWN_CUPTI"
SAFE_SINCE_CUDA = (12, 6)


def ask_to_detach() -> None:
    """For the trace about to start. ``os.environ`` stays the user's; one who set the variable decides."""
    if may_detach():
        os.putenv(VARIABLE, "1")


def withdraw() -> None:
    """The trace has stopped: what the program starts from now on is not to inherit the variable."""
    if may_detach():
        os.unsetenv(VARIABLE)


def may_detach() -> bool:
    return VARIABLE not in os.environ and _cuda_version() >= SAFE_SINCE_CUDA


def _cuda_version() -> tuple[int, ...]:
    """Of the toolkit torch was built with; empty for another build."""
    version = getattr(torch.version, "cuda", None)
    return tuple(int(part) for part in version.split(".")[:2]) if version else ()
