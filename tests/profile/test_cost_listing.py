"""The parts of a listing: which columns, which lines, which numbers."""

from __future__ import annotations

import io

import pytest

from warplint.profile.model import CapturedSource, IdleCause, LineCost, Profile, Totals
from warplint.report.costs_columns import columns_for
from warplint.report.costs_folding import stretches
from warplint.report.costs_summary import summary
from warplint.report.costs_terminal import Listing, Marker, console_for, print_costs
from warplint.report.figures import milliseconds, share

FULL = LineCost(
    "a.py",
    1,
    busy_us=5_000,
    gpu_forward_us=4_000,
    gpu_backward_us=1_000,
    launches=10,
    copies=2,
    waits=2,
    wait_us=300,
    idle_us={IdleCause.DATA: 100.0, IdleCause.SYNC: 900.0},
    share=0.6,
)


def headers(costs: list[LineCost], room: int, on_gpu: bool = True) -> list[str]:
    return [column.header for column in columns_for(costs, 1, on_gpu, room)]


def test_only_columns_with_something_to_say() -> None:
    assert headers([LineCost("a.py", 1, busy_us=50.0, share=0.5)], 200) == ["time", "GPU ms"]
    assert headers([LineCost("a.py", 1, cpu_us=50.0, share=0.5)], 200, on_gpu=False) == ["time", "CPU ms"]


def test_columns_give_way_in_groups_where_there_is_no_room() -> None:
    wide = headers([FULL], 200)
    assert wide == [
        *("time", "GPU ms", "fwd", "bwd", "launches", "copies", "waits", "wait ms", "idle ms", "cause"),
    ]
    narrower = headers([FULL], 70)
    assert "fwd" in narrower and "bwd" in narrower and "launches" not in narrower
    assert headers([FULL], 25) == ["time", "GPU ms", "idle ms"]
    assert headers([FULL], 0) == ["time"]


def test_the_cause_shown_is_that_of_most_idle_time() -> None:
    cause = next(column for column in columns_for([FULL], 1, True, 200) if column.header == "cause")
    assert cause.cell(FULL, 1) == "sync"


def test_figures_are_of_one_step() -> None:
    columns = {column.header: column.cell(FULL, 4) for column in columns_for([FULL], 4, True, 200)}
    assert columns["GPU ms"] == "1.25"
    assert columns["launches"] == "2.5"
    assert columns["copies"] == "0.5"


@pytest.mark.parametrize(
    ("us", "text"),
    [(0, "0.00"), (9_994, "9.99"), (9_996, "10.0"), (99_940, "99.9"), (99_960, "100"), (1_234_567, "1,235")],
)
def test_milliseconds_have_three_figures(us: float, text: str) -> None:
    assert milliseconds(us) == text


def test_shares() -> None:
    assert [share(part) for part in (0, 0.0123, 0.0996, 1)] == ["0.0%", "1.2%", "10%", "100%"]


def test_summary_names_the_greatest_causes_first_and_leaves_out_the_least() -> None:
    causes = {IdleCause.DATA: 100.0, IdleCause.SYNC: 250.0, IdleCause.ALLOC: 1.0}
    lines = [LineCost("a.py", 1, idle_us=causes)]
    totals = Totals(
        wall_us=1_000, gpu_busy_us=639, gpu_idle_us=361, unattributed_us=10, kernels=3, steps=2, device="GPU"
    )
    assert summary(Profile("x", [], totals, lines, {})) == (
        "2 steps of 0.50 ms on GPU: GPU busy 64%, idle 36% (sync 25%, data 10%); "
        "1.5 kernels, 0 copies and 0 waits a step; 1.0% unattributed"
    )


def test_summary_without_a_gpu_without_steps_and_without_anything() -> None:
    def said(totals: Totals) -> str:
        return summary(Profile("x", [], totals, [], {}))

    assert said(Totals(wall_us=3_000, steps=1)) == (
        "1 step of 3.00 ms on the CPU (no GPU work was captured); 0.0% unattributed"
    )
    assert said(Totals(wall_us=3_000)).startswith("3.00 ms without a whole step on the CPU")
    assert said(Totals()) == "no step was captured"


TEXT = """\
class Net:
    a = 1
    b = 2
    c = 3

    def forward(self):
        x = 1
        y = 2
        z = 3
        u = 4
        return x

    def other(self):
        return 1
"""


def shown(text: str, interesting: set[int]) -> list[int]:
    lines = text.count("\n")
    found = list(stretches(text, lines, interesting))
    assert [number for stretch in found for number in stretch.lines] == list(range(1, lines + 1))
    return [number for stretch in found if stretch.shown for number in stretch.lines]


def test_a_line_is_shown_with_its_neighbours_and_what_it_stands_in() -> None:
    assert shown(TEXT, {9}) == [1, 6, 7, 8, 9, 10]


def test_short_stretches_are_not_folded() -> None:
    assert shown(TEXT, {7, 11}) == [1, 6, 7, 8, 9, 10, 11]


def test_text_that_does_not_parse_is_folded_all_the_same() -> None:
    assert shown("a\nb\nc\nd\ndef (:\n", {5}) == [4, 5]


def test_a_message_is_said_once_and_another_on_the_same_line_keeps_its_code() -> None:
    lines = [LineCost("a.py", number, busy_us=100.0, share=0.3) for number in (1, 2)]
    sources = {"a.py": CapturedSource("a.py", "", "first()\nsecond()\n")}
    profile = Profile("x", [], Totals(wall_us=600, gpu_busy_us=600, steps=1, device="GPU"), lines, sources)
    markers = [Marker(1, "WL101", "move it"), Marker(2, "WL101", "move it"), Marker(2, "WL201", "read less")]
    printed = io.StringIO()
    print_costs(console_for(printed), Listing(profile, markers={"a.py": markers}))
    rows = [row.split() for row in printed.getvalue().splitlines()]
    assert [row[-3:] for row in rows if "└" in row] == [["└", "move", "it"], ["└", "read", "less"]]
    assert [row for row in rows if "WL201" in row] == [["WL201", "└", "read", "less"]]
    assert sum("WL101" in row for row in rows) == 2
