"""Standard output is read by a program: nothing else may be written to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_clean() -> Iterator[None]:
    """What is printed meanwhile, by whatever is imported, goes to standard error."""
    sys.stdout.flush()
    descriptor = sys.stdout.fileno()
    kept = os.dup(descriptor)
    os.dup2(sys.stderr.fileno(), descriptor)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, descriptor)
        os.close(kept)
