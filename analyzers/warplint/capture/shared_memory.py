"""How much shared memory there is, through which a DataLoader's workers hand over their batches."""

from __future__ import annotations

import os
from pathlib import Path

SHM = Path("/dev/shm")
WANTED_BYTES = 512 << 20
"""Containers get 64 MB by default; a few prefetched batches of images need some hundred."""

REMEDY = (
    "Docker: `--shm-size=8g` or `--ipc=host`; Kubernetes: an emptyDir volume with `medium: Memory` "
    "mounted at /dev/shm"
)


def shm_bytes() -> int | None:
    """The size of /dev/shm; None where there is none (macOS, Windows), or it may not be asked."""
    try:
        if not hasattr(os, "statvfs") or not SHM.is_dir():
            return None
        found = os.statvfs(SHM)
    except OSError:
        return None
    return found.f_frsize * found.f_blocks


def too_small(size_bytes: int | None) -> str | None:
    """A sentence with the remedy, or None."""
    if size_bytes is None or size_bytes >= WANTED_BYTES:
        return None
    return f"/dev/shm holds {size_bytes >> 20} MB, little for DataLoader workers ({REMEDY})"
