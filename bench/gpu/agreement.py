"""How often Warplint's line for a launch agrees with an independent record made by truth.py.

    python agreement.py forward  CAPTURE_FOLDER
    python agreement.py backward CAPTURE_FOLDER RECORD

Prints one JSON object: launches compared, how many agree, the same weighted by GPU time, launches for which
there is no independent line, and the commonest disagreements. A line inside a statement that spans lines
counts as the statement's first.
"""

from __future__ import annotations

import ast
import collections
import json
import sys
from collections.abc import Callable
from pathlib import Path

from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.window_trace import read_window_trace
from warplint.profile.join import raw_files
from warplint.profile.kineto.calls import BACKWARD_NODE
from warplint.profile.kineto.nesting import ThreadNesting, by_thread
from warplint.profile.kineto.trace import NONE, HostSpans, Trace, spans_named
from warplint.profile.raw.process import read_process
from warplint.profile.timeline import NOWHERE, Places, Timeline
from warplint.source.statements import statement_heads

Place = tuple[str, int]
TRUTH = "truth|"


class Heads:
    """Lines to the first lines of their statements, per file."""

    def __init__(self) -> None:
        self.files: dict[str, dict[int, int]] = {}

    def of(self, place: Place) -> Place:
        file, line = place
        if file not in self.files:
            self.files[file] = statement_heads(ast.parse(Path(file).read_text(encoding="utf-8")))
        return file, self.files[file].get(line, line)


class Innermost:
    """The innermost of some spans around a thread's time."""

    def __init__(self, trace: Trace, spans: HostSpans, prefix: str) -> None:
        members = by_thread(spans, list(spans_named(trace, spans, (prefix,))))
        self.threads = {thread: ThreadNesting(spans, each) for thread, each in members.items()}

    def around(self, thread: int, t_ns: int) -> int | None:
        nesting = self.threads.get(thread)
        return None if nesting is None else next(nesting.around(t_ns), None)


def forward_truth(trace: Trace) -> Callable[[int, int], Place | None]:
    annotations = Innermost(trace, trace.annotations, TRUTH)

    def truth(thread: int, t_ns: int) -> Place | None:
        found = annotations.around(thread, t_ns)
        if found is None:
            return None
        _, file, line = trace.text(trace.annotations.name[found]).split("|")
        return file, int(line)

    return truth


def backward_truth(trace: Trace, record: Path) -> Callable[[int, int], Place | None]:
    places: dict[int, Place] = {}
    for line in record.read_text(encoding="utf-8").splitlines():
        places.update({int(number): (file, at) for number, (file, at) in json.loads(line).items()})
    nodes = Innermost(trace, trace.operators, BACKWARD_NODE)

    def truth(thread: int, t_ns: int) -> Place | None:
        found = nodes.around(thread, t_ns)
        if found is None or trace.operators.sequence[found] == NONE:
            return None
        return places.get(trace.operators.sequence[found])

    return truth


def compare(folder: Path, kind: str, record: Path | None) -> dict[str, object]:
    process = read_process(raw_files(folder)[0])
    places, heads = Places(process), Heads()
    files = {source.identifier: source.path for source in process.sources.values()}
    counts: collections.Counter[str] = collections.Counter()
    gpu_ns: collections.Counter[str] = collections.Counter()
    wrong: collections.Counter[str] = collections.Counter()
    for window in process.windows:
        close = window.close
        if close is None or close.trace is None or close.main_thread is None:
            continue
        trace, _ = read_window_trace(folder, close.trace, close)
        charger = Charger(trace, Timeline(window, places), close.main_thread)
        if kind == "forward":
            truth_of = forward_truth(trace)
        else:
            assert record is not None
            truth_of = backward_truth(trace, record)
        work_ns: collections.Counter[int] = collections.Counter()
        for index in range(len(trace.work)):
            work_ns[trace.work.correlation[index]] += trace.work.end[index] - trace.work.start[index]
        for call in range(len(trace.calls)):
            correlation = trace.calls.correlation[call]
            if correlation not in work_ns:
                continue
            thread, start = trace.calls.thread[call], trace.calls.start[call]
            truth = truth_of(thread, start)
            if truth is None:
                key = "without_truth"
            else:
                place = charger.place(thread, start)
                known = places.all[place] if place != NOWHERE else None
                ours = None if known is None else heads.of((files[known.source], known.line))
                key = "agree" if ours == heads.of(truth) else "disagree"
                if key == "disagree":
                    wrong[f"{ours} for {heads.of(truth)}"] += 1
            counts[key] += 1
            gpu_ns[key] += work_ns[correlation]
    compared = counts["agree"] + counts["disagree"]
    compared_ns = gpu_ns["agree"] + gpu_ns["disagree"]
    return {
        "kind": kind,
        "launches_compared": compared,
        "agree": counts["agree"],
        "agree_share": counts["agree"] / compared if compared else None,
        "agree_share_of_gpu_time": gpu_ns["agree"] / compared_ns if compared_ns else None,
        "launches_without_truth": counts["without_truth"],
        "disagreements": dict(wrong.most_common(10)),
    }


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    record = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    print(json.dumps(compare(folder, kind, record), indent=1))


if __name__ == "__main__":
    main()
