"""A capture for https://www.speedscope.app: what each line cost, and each thread's lines over time.

Format: https://www.speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from warplint import __version__
from warplint.profile.imported.recording import RecordedWindow, Recording
from warplint.profile.model import LineCost, Profile
from warplint.profile.names.signature import signature

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
UNIT = "microseconds"


class _Frames:
    """Numbers frames, each kept once."""

    def __init__(self) -> None:
        self.all: list[dict[str, object]] = []
        self._numbers: dict[tuple[str, str, int], int] = {}

    def number(self, name: str, file: str = "", line: int = 0) -> int:
        found = self._numbers.get((name, file, line))
        if found is None:
            found = self._numbers[name, file, line] = len(self.all)
            frame: dict[str, object] = {"name": name}
            if file:
                frame["file"] = file
            if line:
                frame["line"] = line
            self.all.append(frame)
        return found


def render(profile: Profile, recording: Recording | None) -> Iterator[str]:
    """The document. Without a recording there are no threads in it."""
    frames = _Frames()
    profiles = [_costs(profile, frames)]
    if recording is not None:
        for number, window in enumerate(recording.windows, 1):
            profiles.extend(_threads(window, number, frames))
    document = {
        "$schema": SCHEMA,
        "exporter": f"warplint {__version__}",
        "name": profile.name,
        "activeProfileIndex": 0,
        "shared": {"frames": frames.all},
        "profiles": profiles,
    }
    yield json.dumps(document, separators=(",", ":")) + "\n"


def _costs(profile: Profile, frames: _Frames) -> dict[str, object]:
    """Stacks of file, line and what it paid for: kernels' time scaled to the line's busy time, and idle
    causes."""
    samples: list[list[int]] = []
    weights: list[float] = []
    for cost in profile.lines:
        place = [frames.number(cost.place)]
        if cost.line:
            place = [frames.number(cost.file, cost.file), frames.number(cost.place, cost.file, cost.line)]
        for name, us in _parts(cost, profile.totals.on_gpu):
            if us > 0:
                samples.append([*place, frames.number(name)])
                weights.append(round(us, 3))
    if profile.totals.unattributed_us > 0:
        samples.append([frames.number("(on no line)")])
        weights.append(round(profile.totals.unattributed_us, 3))
    what = "GPU time by line" if profile.totals.on_gpu else "host time by line"
    return {
        "type": "sampled",
        "name": f"{what}, sum of {profile.totals.steps} steps",
        "unit": UNIT,
        "startValue": 0,
        "endValue": round(sum(weights), 3),
        "samples": samples,
        "weights": weights,
    }


def _parts(cost: LineCost, on_gpu: bool) -> Iterator[tuple[str, float]]:
    if not on_gpu:
        yield "host", cost.cpu_us
        return
    total = sum(kernel.us for kernel in cost.kernels)
    for kernel in cost.kernels:
        # Where kernels overlap, their plain sum is more than the time they took.
        yield signature(kernel.name), kernel.us * cost.busy_us / total
    if not total:
        yield "GPU busy", cost.busy_us
    for cause, us in cost.idle_us.items():
        yield f"GPU idle: {cause.value}", us


def _threads(window: RecordedWindow, number: int, frames: _Frames) -> Iterator[dict[str, object]]:
    order = sorted(window.timeline.threads, key=lambda thread: (thread != window.stepping_thread, thread))
    for thread in order:
        lines = window.timeline.threads[thread]
        if not lines.times:
            continue
        begin, end = lines.times[0], max(window.end_ns, lines.times[-1])
        events: list[dict[str, object]] = []
        for start, stop, place in lines.spans(begin, end):
            line = window.line_of(place)
            if line is not None:
                file, at = line
                # An imported trace without lines has operators in their place.
                frame = frames.number(f"{file}:{at}", file, at) if at else frames.number(file)
                events.append({"type": "O", "frame": frame, "at": (start - begin) / 1000})
                events.append({"type": "C", "frame": frame, "at": (stop - begin) / 1000})
        yield {
            "type": "evented",
            "name": f"lines of thread {thread}, window {number}",
            "unit": UNIT,
            "startValue": 0,
            "endValue": (end - begin) / 1000,
            "events": events,
        }
