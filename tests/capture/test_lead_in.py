"""Steps at the start of a window that are shorter than usual do not count."""

from __future__ import annotations

import json
import statistics
from array import array
from itertools import accumulate, chain, cycle, islice, pairwise
from pathlib import Path

import pytest
from programs import make_project, run

from warplint.capture.layout import Record, raw_name
from warplint.capture.recorder import Recorder
from warplint.capture.steps.lead_in import LeadIn, Usual
from warplint.capture.summary import summarize
from warplint.profile.store import open_profile

MS = 1_000_000


def lead_in_of(usual: Usual | None, *steps_ms: float) -> LeadIn:
    """Of a window that opened at 1 s."""
    lead_in, now_ns = LeadIn(1000 * MS, usual), 1000 * MS
    for step_ms in steps_ms:
        now_ns += round(step_ms * MS)
        lead_in.step_ended(now_ns)
    return lead_in


@pytest.mark.parametrize(
    ("steps_ms", "left_out", "counts_ms"),
    [
        # The first is never whole. What counts begins where the last that is left out ends.
        ((3, 20, 20), 1, 0),
        ((20, 20, 20), 1, 0),
        ((3, 4, 5, 20, 20), 3, 3 + 4),
        ((3, 4, 5, 16, 18, 4), 4, 3 + 4 + 5),
        ((3, 14.9, 20), 2, 3),
        ((3, 15.1, 20), 1, 0),
        # A long one takes back what those beside it gained.
        ((3, 4, 36, 20), 2, 3),
        ((3, 36, 4, 20), 1, 0),
        # After two of usual length in a row all count.
        ((3, 20, 20, 4, 4), 1, 0),
        # Ten short steps are what steps are now.
        ((3, *[5] * 10), 9, 3 + 7 * 5),
    ],
)
def test_steps_that_get_ahead_of_the_pace_do_not_count(
    steps_ms: tuple[float, ...], left_out: int, counts_ms: float
) -> None:
    lead_in = lead_in_of(Usual(20 * MS, 0), *steps_ms)
    assert (lead_in.steps, lead_in.counted) == (left_out, len(steps_ms) - left_out)
    assert 0 <= lead_in.counts_ns - (1000 + counts_ms) * MS <= 1


def test_where_the_usual_pace_is_not_known_none_is_short() -> None:
    assert lead_in_of(None, 3, 1, 1).steps == 1
    assert Usual.of([0, 9, 10, 11, 12]) is None
    assert Usual.of([0, 1, 2, 3, 4, 5]) == Usual(pace_ns=1, ahead_ns=0)


@pytest.mark.parametrize("steps_ms", [(10, 30), (30, 10), (10, 30, 30), (10, 10, 30), (1, 1, 1, 77)])
def test_steps_of_several_lengths_are_all_usual(steps_ms: tuple[int, ...]) -> None:
    usual = usual_of(steps_ms)
    assert lead_in_of(usual, 3, *islice(cycle(steps_ms), 12)).steps == 1


def test_of_batches_that_come_in_pairs_those_that_were_ready_do_not_count() -> None:
    """Two workers begin and end together: a step waits 58 ms for both, the next finds its batch there."""
    usual = usual_of((60, 2))
    assert usual == Usual(pace_ns=31 * MS, ahead_ns=29 * MS)
    # Four were ready when the window had opened. The last of them is as short as every other step is.
    lead_in = lead_in_of(usual, 2, 2, 2, 2, 60, 2, 60, 2)
    assert lead_in.steps == 3
    # One step that is very long, such as one that saves, does not change the pace.
    assert usual_of((60, 2), 5000) == usual


def usual_of(steps_ms: tuple[int, ...], last_ms: int = 0) -> Usual:
    ends_ms = accumulate([*islice(cycle(steps_ms), 24), *([last_ms] if last_ms else [])], initial=0)
    usual = Usual.of([end_ms * MS for end_ms in ends_ms])
    assert usual is not None
    return usual


def written(folder: Path, before_ms: float, *steps_ms: float) -> Path:
    """A capture whose window opened in the seventh of such steps, after 20 ms of it; those follow it."""
    folder.mkdir()
    recorder = Recorder(folder / raw_name(0, 1), lambda: None)
    ends = list(accumulate([before_ms] * 6, initial=1000))
    opened_ms = ends[-1] + 20
    lead_in = LeadIn(round(opened_ms * MS), Usual.of([round(end * MS) for end in ends]))
    for step_ms in steps_ms:
        ends.append((ends[-1] if len(ends) > 7 else opened_ms) + step_ms)
        lead_in.step_ended(round(ends[-1] * MS))
    recorder.steps(array("q", chain.from_iterable((n, round(end * MS)) for n, end in enumerate(ends, 1))))
    recorder.json(
        Record.WINDOW_OPEN, {"window": 1, "t_ns": round(opened_ms * MS), "step": 7, "reason": "asked for"}
    )
    price = {"start_s": 0.1, "stop_s": 0.2, "write_s": 0.3}
    recorder.json(
        Record.WINDOW_CLOSE,
        {
            "window": 1,
            "step": len(ends),
            "reason": "its steps were made",
            "lead_in": lead_in.steps,
            "counts_ns": lead_in.counts_ns,
            "price": price,
        },
    )
    recorder.json(Record.END, {"t_ns": 0, "reason": "exit"})
    recorder.close()
    return folder


def test_short_steps_are_said_to_be_short_and_cost_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path / "capture", 30, 10, *[4] * 4, *[33] * 10)
    captured, price = summarize(folder).sentences
    # No loader was seen that could have had data ready.
    assert captured.endswith("4 shorter ones do not count: the program was ahead of its usual pace)")
    assert captured.startswith("captured steps 13 to 22 ")
    assert "inside 0.03 s extra" in price
    assert "median step before 30.0 ms, inside 33.0 ms" in price


def test_where_no_step_is_short_all_since_the_opening_cost_something(tmp_path: Path) -> None:
    captured, price = summarize(written(tmp_path / "capture", 30, 40, *[33] * 10)).sentences
    assert "shorter" not in captured
    assert "inside 0.04 s extra" in price


LOAD_MS = 30
LOADING = f"""
import json, sys, time, torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep({LOAD_MS} / 1000)
        return torch.full((8,), float(index))

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
ends = []
for batch in DataLoader(Data(), batch_size=1, num_workers=1, prefetch_factor=6):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    ends.append(time.perf_counter_ns())
json.dump(ends, sys.stdout)
"""


def test_steps_whose_data_was_loaded_while_the_window_opened_do_not_count(tmp_path: Path) -> None:
    done = run(make_project(tmp_path / "project", train=LOADING), "train.py")
    (opened,), (closed,) = done.process.opened, done.process.closed
    ends = json.loads(done.stdout)
    lead_in = closed["lead_in"]
    # Opening takes a tenth of a second at the least, in which three batches are loaded; the queue holds six.
    assert 2 <= lead_in <= 8
    assert closed["step"] - opened["step"] == 10 + lead_in
    times_ms = [(late - early) / MS for early, late in pairwise(ends)]
    # The n-th step ends what times_ms[n - 2] is. Those left out, but for the first, waited for no data.
    left_out = times_ms[opened["step"] : opened["step"] + lead_in - 1]
    assert statistics.median(left_out) < 0.8 * statistics.median(times_ms[: opened["step"] - 1][-20:])
    counted = times_ms[opened["step"] + lead_in - 1 : closed["step"] - 1]
    assert len(counted) == 10
    assert sum(counted) / 10 > 0.9 * LOAD_MS
    said = f"; {lead_in - 1} shorter "
    (captured, *_) = summarize(done.folder).sentences
    assert said in captured
    assert "loaders had data ready" in captured
    totals = open_profile(done.folder).totals
    assert totals.steps == 10
    # The program's own clock has what closing the window took in the last of them.
    assert 10 * 0.9 * LOAD_MS < totals.wall_us / 1000 < sum(counted)
