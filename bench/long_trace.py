"""Makes a long trace of a real one: long_trace.py TRACE INTO --bytes N repeats its events, run after run.

Times, correlations, ids of operators and flows, sequence numbers and numbers of steps go on counting, so that
the result is what a longer run would have recorded; the layout is Kineto's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COUNTED = {"correlation": 0, "External id": 1, "external id": 1, "Sequence number": 2}
"""Which numbers in ``args`` go on counting, those of a kind together."""
_STEP = re.compile(r"ProfilerStep#(\d+)$")


@dataclass(frozen=True)
class Strides:
    """By how much each number grows from one repetition to the next."""

    us: float
    ids: tuple[int, int, int]
    steps: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", type=Path)
    parser.add_argument("into", type=Path)
    parser.add_argument("--bytes", type=int, required=True)
    asked = parser.parse_args()
    print(f"{repeat(asked.trace, asked.into, asked.bytes)} repetitions")


def repeat(trace: Path, into: Path, size: int) -> int:
    """Write at least ``size`` bytes; returns how often the events stand in it."""
    raw = trace.read_bytes()
    document = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    events = [event for event in document.pop("traceEvents") if event["ph"] != "M"]
    strides = strides_of(events)
    templates = [Template.of(event, strides) for event in events]
    repetitions = 0
    with into.open("w", encoding="utf-8") as stream:
        head = json.dumps(document, indent=2)
        stream.write(f'{head[: head.rindex("}")].rstrip()},\n  "traceEvents": [\n')
        while stream.tell() < size:
            if repetitions:
                stream.write(",\n")
            stream.write(",\n".join(template.render(repetitions) for template in templates))
            repetitions += 1
        stream.write("\n  ]\n}\n")
    return repetitions


def strides_of(events: list[dict[str, Any]]) -> Strides:
    ids = [0, 0, 0]
    steps = set()
    begin, end = float("inf"), 0.0
    for event in events:
        for key, value in event.get("args", {}).items():
            if key in COUNTED:
                ids[COUNTED[key]] = max(ids[COUNTED[key]], value)
        if "dur" in event and event.get("cat") != "Trace":
            begin, end = min(begin, event["ts"]), max(end, event["ts"] + event["dur"])
        step = _STEP.match(event.get("name", ""))
        if step:
            steps.add(step[1])
    largest = max(ids) + 1
    return Strides(round(end - begin) + 100, (largest, largest, largest), len(steps))


@dataclass(frozen=True)
class Template:
    """An event as text with holes, and what stands in them the first time and grows."""

    text: str
    numbers: list[tuple[float, float]]

    @classmethod
    def of(cls, event: dict[str, Any], strides: Strides) -> Template:
        numbers: list[tuple[float, float]] = []

        def hole(value: float, stride: float) -> str:
            numbers.append((value, stride))
            return "%s"

        head = ", ".join(f"{_plain(key)}: {text}" for key, text in _members(event, strides, hole))
        args = ", ".join(
            f"{_plain(key)}: " + (hole(value, strides.ids[COUNTED[key]]) if key in COUNTED else _plain(value))
            for key, value in event.get("args", {}).items()
        )
        tail = f',\n    "args": {{\n      {args}\n    }}' if "args" in event else ""
        return cls(f"  {{\n    {head}{tail}\n  }}", numbers)

    def render(self, repetition: int) -> str:
        return self.text % tuple(value + stride * repetition for value, stride in self.numbers)


def _members(
    event: dict[str, Any], strides: Strides, hole: Callable[[float, float], str]
) -> Iterator[tuple[str, str]]:
    for key, value in event.items():
        step = _STEP.match(value) if key == "name" else None
        if key == "args":
            continue
        if key == "ts":
            yield key, hole(value, strides.us)
        elif key == "id":
            yield key, hole(value, strides.ids[0])
        elif step is not None:
            yield key, f'"ProfilerStep#{hole(int(step[1]), strides.steps)}"'
        else:
            yield key, _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value).replace("%", "%%")


if __name__ == "__main__":
    main()
