"""Steps at the start of a window that are shorter than usual do not count."""

from __future__ import annotations

import json
import statistics
from itertools import pairwise
from pathlib import Path

import pytest
from programs import make_project, run

from warplint.capture.steps.lead_in import LeadIn, usual_step_ns
from warplint.capture.summary import summarize
from warplint.profile.store import open_profile

MS = 1_000_000


def lead_in_of(usual_ms: float, *steps_ms: float) -> LeadIn:
    """Of a window that opened at 1 s."""
    lead_in, now_ns = LeadIn(1000 * MS, usual_ms * MS), 1000 * MS
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
        ((3, 4, 5, 16, 17, 4), 3, 3 + 4),
        ((3, 14.9, 15.1), 2, 3),
        # One that was long for another reason is no end of it, two in a row are.
        ((3, 4, 50, 5, 20, 20), 4, 3 + 4 + 50),
        ((3, 20, 20, 4, 20), 1, 0),
        # Ten short steps are what steps are now.
        ((3, *[5] * 10), 9, 3 + 7 * 5),
    ],
)
def test_short_steps_do_not_count_until_steps_are_as_usual(
    steps_ms: tuple[float, ...], left_out: int, counts_ms: float
) -> None:
    lead_in = lead_in_of(20, *steps_ms)
    assert (lead_in.steps, lead_in.counted) == (left_out, len(steps_ms) - left_out)
    assert 0 <= lead_in.counts_ns - (1000 + counts_ms) * MS <= 1


def test_where_the_usual_step_is_not_known_none_is_short() -> None:
    assert lead_in_of(0, 3, 1, 1).steps == 1
    assert usual_step_ns([0, 9, 10, 11, 12]) == 0
    assert usual_step_ns([0, 9, 10, 11, 12, 13]) == 1


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
    said = f"; {lead_in - 1} shorter ones do not count"
    assert sum(said in sentence for sentence in summarize(done.folder).sentences) == 1
    totals = open_profile(done.folder).totals
    assert totals.steps == 10
    # The program's own clock has what closing the window took in the last of them.
    assert 10 * 0.9 * LOAD_MS < totals.wall_us / 1000 < sum(counted)
