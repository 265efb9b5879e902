"""Programs with a DataLoader, and what was recorded of its workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from programs import OPTIMIZER, Run

from warplint.capture.layout import WORKER_SUFFIX, RawReader, RawSource, Record, parse_json, parse_source

LOOP = f"""
{OPTIMIZER}
def train(loader, epochs=1):
    model = torch.nn.Linear(8, 8)
    optimizer = Descent(model.parameters())
    total = 0.0
    for epoch in range(epochs):
        for batch in loader:
            total += float(batch.sum())
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
    print(total)
"""
"""Defines ``train(loader)``, which prints what the batches sum to."""


@dataclass
class Worker:
    """What one worker's file holds."""

    described: dict[str, Any] = field(default_factory=dict)
    fetches: list[dict[str, Any]] = field(default_factory=list)
    codes: dict[int, dict[str, Any]] = field(default_factory=dict)
    sources: dict[int, RawSource] = field(default_factory=dict)
    end: dict[str, Any] | None = None
    lost_bytes: int = 0

    @classmethod
    def read(cls, path: Path) -> Worker:
        worker, reader = cls(), RawReader(path)
        for record, payload in reader.records():
            if record is Record.WORKER:
                worker.described = parse_json(payload)
            elif record is Record.FETCH:
                worker.fetches.append(parse_json(payload))
            elif record is Record.CODE:
                code = parse_json(payload)
                worker.codes[code["id"]] = code
            elif record is Record.SOURCE:
                source = parse_source(payload)
                worker.sources[source.identifier] = source
            elif record is Record.END:
                worker.end = parse_json(payload)
        worker.lost_bytes = reader.lost_bytes
        return worker

    def texts(self) -> dict[str, dict[str, float]]:
        """The text of each line that was followed, to its times for one sample, in milliseconds."""
        found: dict[str, dict[str, float]] = {}
        items = sum(fetch["items"] for fetch in self.fetches)
        for fetch in self.fetches:
            for code, line, *times in fetch["lines"]:
                text = self.sources[self.codes[code]["file"]].text.splitlines()[line - 1].strip()
                sums = found.setdefault(text, {"wall": 0.0, "cpu": 0.0, "ready": 0.0})
                for name, ns in zip(sums, times, strict=True):
                    sums[name] += ns / 1e6 / items
        return found


def workers_of(run: Run) -> list[Worker]:
    return [Worker.read(path) for path in sorted(run.folder.glob(f"*{WORKER_SUFFIX}"))]
