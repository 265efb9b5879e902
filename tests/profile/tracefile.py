"""Writes trace files, and counts what one holds, by itself: the truth that imports are checked against."""

from __future__ import annotations

import gzip
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warplint.profile.kineto.reader import read_trace
from warplint.profile.kineto.trace import Trace

KERNELS, COPIES = ("kernel", "Kernel"), ("gpu_memcpy", "Memcpy")


@dataclass(frozen=True)
class Count:
    """``copies`` are those that leave a device."""

    kernels: int
    kernel_us: float
    copies: int
    copy_bytes: int
    steps: int


def parse_trace(text: str) -> Trace:
    """Read a trace file that holds this."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return read_trace(path)


def events_of(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    text = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    events: list[dict[str, Any]] = json.loads(text)["traceEvents"]
    return events


def count(path: Path) -> Count:
    complete = [event for event in events_of(path) if event["ph"] == "X"]
    kernels = [event for event in complete if event["cat"] in KERNELS]
    copies = [event for event in complete if event["cat"] in COPIES and "DtoD" not in event["name"]]
    steps = {
        event["name"]
        for event in complete
        if event["name"].startswith("ProfilerStep#") and event["cat"] != "gpu_user_annotation"
    }
    return Count(
        kernels=len(kernels),
        kernel_us=sum(event["dur"] for event in kernels),
        copies=len(copies),
        copy_bytes=sum(event["args"]["bytes"] for event in copies),
        steps=len(steps),
    )
