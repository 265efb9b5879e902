"""The types that msgspec decodes a piece of a trace into: ``events.Event``, strictly.

Imported only where a trace is read, and only when msgspec is installed. Members that are not named here are
checked to be JSON and skipped, unbuilt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from warplint.profile.kineto.events import ARGUMENTS, LARGEST, Event
from warplint.profile.kineto.trace import NONE

# Kineto's own numbers keep far within; what does not goes the slow way, where it is said.
_Whole = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
_Microseconds = Annotated[float, msgspec.Meta(gt=-LARGEST / 1000, lt=LARGEST / 1000)]


class FastArgs(msgspec.Struct, gc=False, rename=ARGUMENTS):
    """``events.EventArgs``."""

    correlation: _Whole = NONE
    device: _Whole = NONE
    bytes: _Whole = 0
    sequence: _Whole = NONE
    forward_thread: _Whole = NONE
    external: _Whole = NONE
    old_external: _Whole = NONE
    stack: str = ""
    called_from: str = ""


class FastEvent(msgspec.Struct, gc=False):
    """``events.Event``."""

    ph: str
    cat: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: _Microseconds | None = None
    dur: _Microseconds | None = None
    id: int | str | None = None
    args: FastArgs | None = None


_DECODER = msgspec.json.Decoder(list[FastEvent])


def decode(piece: bytes) -> Sequence[Event] | None:
    """The events of a JSON list; None when it is none, or any of them is not as expected."""
    try:
        return _DECODER.decode(piece)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
