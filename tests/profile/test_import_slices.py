"""Long traces are joined in slices: what comes out is what the whole would have given."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.profile.imported.costs import by_rank, import_traces
from warplint.profile.kineto import slices as trace_slices
from warplint.profile.model import Profile

TRACES = Path(__file__).parents[1] / "data" / "traces"
CASES = [
    ("tracelens/h100_stacks.json.gz", 900),
    ("tracelens/amd_graph.json.gz", 700),
    ("tracelens/mi210_gpu_only.json.gz", 400),
    ("hta/sampled_rank-0.json.gz", 1500),
    ("hta/alexnet.json.gz", 250),
    ("warplint/callers.json.gz", 50),
]


def imported(name: str, root: Path) -> Profile:
    return import_traces(by_rank([TRACES / name]), root)


@pytest.mark.parametrize(("name", "events"), CASES)
def test_slices_add_up_to_the_whole(
    name: str, events: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = imported(name, tmp_path)
    monkeypatch.setattr(trace_slices, "SLICE_EVENTS", events)
    sliced = imported(name, tmp_path)
    assert {name: getattr(sliced.totals, name) for name in EXACT} == {
        name: getattr(whole.totals, name) for name in EXACT
    }
    assert counts(sliced) == counts(whole)
    costs = {cost.place: cost for cost in whole.lines}
    for cost in sliced.lines:
        assert cost.busy_us == pytest.approx(costs[cost.place].busy_us, abs=ROUNDING_US)
        # Idle time that spans two slices is two gaps, whose causes are looked for one by one.
        assert cost.share == pytest.approx(costs[cost.place].share, abs=SPLIT_GAPS)


EXACT = (
    "wall_us",
    "gpu_busy_us",
    "gpu_idle_us",
    "kernel_us",
    "kernels",
    "copies",
    "waits",
    "launches",
    "steps",
)
SPLIT_GAPS = 0.005
ROUNDING_US = 0.1
"""Where work overlaps, nanoseconds that do not divide go to one of the lines, in each slice to another."""


def counts(profile: Profile) -> dict[str, tuple[float, ...]]:
    return {
        cost.place: (cost.launches, cost.copies, cost.waits, cost.gpu_us, cost.cpu_us)
        for cost in profile.lines
    }


def test_a_trace_is_really_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from warplint.profile.kineto.reader import read_trace

    trace = read_trace(TRACES / "hta" / "sampled_rank-0.json.gz")
    begin, end = min(trace.calls.start), max(trace.work.end)
    pieces = list(trace_slices.slices(trace, begin, end, [], events=700))
    assert len(pieces) > 4
    assert [piece.end for piece in pieces[:-1]] == [piece.begin for piece in pieces[1:]]
    parts = [piece.cut() for piece in pieces]
    assert all(len(part.work) < len(trace.work) for part in parts)
    assert sum(len(part.operators) for part in parts) >= len(trace.operators)
