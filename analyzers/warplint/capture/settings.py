"""What ``warplint run`` tells the processes it captures, carried in one environment variable."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

VARIABLE = "WARPLINT_CAPTURE"
"""Holds ``Settings`` as JSON. While it stands in the environment, bootstrap/sitecustomize.py acts on it."""

LEAD_IN_STEPS = 1
"""Steps at the start of a window that are not whole: the GPU's queue has just been emptied to open it."""
DEFAULT_STEPS = 10
DEFAULT_SECONDS = 30.0
DEFAULT_SHARE = 0.03
"""What all windows may have cost, as a share of the run so far, when another is opened."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Paths are absolute; ``include`` names packages that are user code."""

    folder: str
    root: str
    cwd: str
    steps: int = DEFAULT_STEPS
    """How many whole steps a window holds."""
    seconds: float = DEFAULT_SECONDS
    """When a window closes even though fewer steps were made."""
    after: int | None = None
    """Open the window after this many steps; None waits until the step time has settled."""
    share: float = DEFAULT_SHARE
    """What further windows may make the capture cost, as a share of the run so far."""
    light: bool = False
    """Record the GPU's activity and lines, and no CPU operators."""
    include: list[str] = field(default_factory=list)
    progress: str | None = None
    """The file that stages are told in, if any."""

    def dump(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> Settings:
        return cls(**json.loads(text))
