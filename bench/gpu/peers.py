"""What other profilers' results say of the same lines.

    python peers.py stacks TRACE PROGRAM
    python peers.py scalene REPORT PROGRAM

Prints one JSON object.

torch.profiler: the innermost ``python_function`` around a launch whose file is the program's; its name gives
a line, which is the function's first. Scalene: its share of GPU time by line, against ours.
"""

from __future__ import annotations

import ast
import bisect
import collections
import json
import re
import sys
from pathlib import Path
from typing import Any

from warplint.source.statements import statement_heads

FUNCTION = re.compile(r"(?P<file>.+\.py)\((?P<line>\d+)\): ")
TRUTH = "truth|"
Spans = dict[int, list[tuple[float, float, int]]]


def stack_agreement(trace: Path, program: Path) -> dict[str, Any]:
    """Of the launches whose line is known, how many torch.profiler's stack names."""
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    heads = statement_heads(ast.parse(program.read_text(encoding="utf-8")))
    truths, functions = (
        _spans(events, _truth_line),
        _spans(events, lambda name: _function_line(name, program)),
    )
    started = {event["args"]["correlation"] for event in events if event.get("cat") in WORK}
    counts: collections.Counter[str] = collections.Counter()
    for event in events:
        if event.get("cat") not in ("cuda_runtime", "cuda_driver"):
            continue
        if event["args"].get("correlation") not in started:
            continue
        truth = _innermost(truths, event)
        if truth is not None:
            found = _innermost(functions, event)
            agrees = found is not None and heads.get(found, found) == heads.get(truth, truth)
            counts["agree" if agrees else "disagree"] += 1
    compared = counts["agree"] + counts["disagree"]
    return {"launches_compared": compared, "agree_share": counts["agree"] / compared if compared else None}


WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def _spans(events: list[Any], line_of: Any) -> Spans:
    """By thread, sorted: start, end and line of the spans that have one."""
    found: Spans = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in ("user_annotation", "python_function"):
            line = line_of(event["name"])
            if line is not None:
                found[event["tid"]].append((event["ts"], event["ts"] + event["dur"], line))
    for spans in found.values():
        spans.sort()
    return found


def _truth_line(name: str) -> int | None:
    return int(name.split("|")[2]) if name.startswith(TRUTH) else None


def _function_line(name: str, program: Path) -> int | None:
    match = FUNCTION.match(name)
    return int(match["line"]) if match and Path(match["file"]).name == program.name else None


def _innermost(spans: Spans, event: Any) -> int | None:
    """The line of the span that started last of those around the event's start."""
    mine = spans.get(event["tid"], [])
    index = bisect.bisect_right(mine, (event["ts"], float("inf"), 0)) - 1
    while index >= 0:
        start, end, line = mine[index]
        if start <= event["ts"] < end:
            return line
        index -= 1
    return None


def scalene_gpu_by_line(report: Path, program: Path) -> dict[int, float]:
    """Scalene's GPU percentage of each line of the program."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    found: dict[int, float] = {}
    for name, file in files.items():
        if Path(name).name == program.name:
            found.update({line["lineno"]: line["n_gpu_percent"] for line in file["lines"]})
    return {line: percent for line, percent in found.items() if percent > 0}


def main() -> None:
    kind, result, program = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    read = {"stacks": stack_agreement, "scalene": scalene_gpu_by_line}[kind]
    print(json.dumps(read(result, program)))


if __name__ == "__main__":
    main()
