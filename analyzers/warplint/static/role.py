"""The roles a function can have."""

from __future__ import annotations

import enum


class Role(enum.Enum):
    """What a function is for, from its class, its name and who calls it."""

    # The members are singletons: hashing them by identity is several times faster than by name.
    __hash__ = object.__hash__

    FORWARD = "forward"
    TRAIN_STEP = "train step"
    EVALUATE = "evaluate"
    GENERATE = "generate"
    SETUP = "set-up"
    DATA = "data"
    SCRIPT = "script"
    OTHER = "other"
