"""What is said of the machine when a capture starts; ``warplint doctor`` looks at more."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from warplint.capture.shared_memory import shm_bytes, too_small
from warplint.capture.tested import doubt


def starting_doubts() -> Iterator[tuple[str, str]]:
    """Codes and sentences for notes."""
    for code, text in (
        ("torch-untested", doubt(str(torch.__version__))),
        ("small-shm", too_small(shm_bytes())),
    ):
        if text is not None:
            yield code, text
