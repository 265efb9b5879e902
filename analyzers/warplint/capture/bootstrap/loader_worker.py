"""Run by its path in a loader worker that begins with a new interpreter: finds what the worker is to run.

The process that starts the worker sends ``SETTINGS``; it reads ``worker_loop`` (capture/workers/loop.py).
Whatever goes wrong, the worker runs torch's own loop.
"""

from __future__ import annotations

import pkgutil
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

SETTINGS: str = globals()["SETTINGS"]
PACKAGES = Path(__file__).resolve().parents[3]


def load_warplint() -> None:
    """Import the package this file belongs to, without a trace on ``sys.path``. Raises ImportError."""
    loaded = sys.modules.get("warplint")
    if loaded is not None:
        if Path(str(loaded.__file__)).resolve().parents[1] != PACKAGES:
            raise ImportError(f"the program has imported another Warplint, {loaded.__file__}")
        return
    spec = PathFinder.find_spec("warplint", [str(PACKAGES)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{PACKAGES} holds no Warplint")
    module = sys.modules["warplint"] = module_from_spec(spec)
    spec.loader.exec_module(module)


try:
    load_warplint()
    from warplint.capture.workers.loop import followed_loop

    worker_loop = followed_loop(SETTINGS)
except Exception:
    worker_loop = pkgutil.resolve_name("torch.utils.data._utils.worker:_worker_loop")
