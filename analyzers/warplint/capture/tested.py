"""The torch versions that a capture has been tested with."""

from __future__ import annotations

import re

TESTED_TORCH = {
    "2.4": "on a CPU (Python 3.12; compiled kernels have no lines)",
    "2.11": "on a GPU (H200, CUDA 13.0, Python 3.12)",
    "2.13": "on a CPU (Python 3.11 and 3.12)",
    "2.14": "on a CPU (Python 3.12)",
}
"""Minor version to how it was tested."""
OLDEST_TORCH = (2, 4)
"""Supported from here on; an older one has no ``torch.compiler`` and other hooks that we need."""


def minor_version(torch_version: str) -> str:
    """``2.13`` of ``2.13.0+cpu``; empty when there are no numbers to read."""
    match = re.match(r"(\d+)\.(\d+)", torch_version)
    return f"{match[1]}.{match[2]}" if match else ""


def doubt(torch_version: str) -> str | None:
    """A sentence when captures with this version are not known to be right, else None."""
    minor = minor_version(torch_version)
    if minor in TESTED_TORCH:
        return None
    if minor and tuple(map(int, minor.split("."))) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        return f"torch {torch_version} is older than {oldest}, the oldest that is supported"
    return f"torch {torch_version} has not been tested with this Warplint (tested: {', '.join(TESTED_TORCH)})"
