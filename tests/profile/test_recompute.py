"""What activation checkpointing computes again is told, on the lines that it runs again."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import AUTOGRAD, MAIN, CaptureBuilder, TraceBuilder

from warplint.profile.join import join
from warplint.profile.model import LineCost

SOURCE = "y = block(x)\ny.backward()\nhook(grad)\n"
FORWARD, BACKWARD, HOOK = 1, 2, 3


def one_step(thread: int) -> CaptureBuilder:
    """An operator, its backward node on a thread, and in that: the operator again, a hook, the gradient."""
    trace = TraceBuilder()
    trace.op("aten::sin", 100, 120, MAIN, sequence=5)
    trace.kernel(105, 110, 140, 1, "sin")
    trace.node("SinBackward0", 300, 400, thread, sequence=5)
    trace.op("aten::sin", 310, 330, thread, sequence=9)
    trace.kernel(315, 320, 340, 2, "sin", thread)
    trace.op("aten::mul", 340, 350, thread)
    trace.kernel(345, 350, 360, 3, "mul in the hook", thread)
    trace.op("aten::cos", 370, 390, thread)
    trace.kernel(375, 380, 420, 4, "cos", thread)
    lines = {MAIN: [(0.0, FORWARD), (200.0, BACKWARD)], thread: [(308.0, FORWARD), (335.0, HOOK)]}
    ends = (355.0, BACKWARD if thread == MAIN else 0)
    if thread == MAIN:
        lines[MAIN] = [(0.0, FORWARD), (200.0, BACKWARD), (308.0, FORWARD), (335.0, HOOK), ends]
    else:
        lines[thread].append(ends)
    return CaptureBuilder(SOURCE, trace, lines=lines, steps=[10, 900])


@pytest.fixture(params=[AUTOGRAD, MAIN], ids=["autograd's thread", "the calling thread"])
def costs(request: pytest.FixtureRequest, tmp_path: Path) -> dict[int, LineCost]:
    profile = join(one_step(request.param).write(tmp_path / "capture"))
    return {cost.line: cost for cost in profile.lines}


def test_the_line_computed_again_has_that_time_in_its_backward(costs: dict[int, LineCost]) -> None:
    forward = costs[FORWARD]
    assert (forward.gpu_forward_us, forward.gpu_backward_us) == (30, 20 + 40)
    assert forward.gpu_recompute_us == 20


def test_a_hook_computes_nothing_again(costs: dict[int, LineCost]) -> None:
    assert (costs[HOOK].gpu_backward_us, costs[HOOK].gpu_recompute_us) == (10, 0)


def test_a_gradient_of_a_gradient_is_no_recomputation(tmp_path: Path) -> None:
    capture = one_step(AUTOGRAD)
    # Under create_graph the backward pass records too, but runs no line of the user's.
    capture.lines[AUTOGRAD] = [(250.0, 0)]
    profile = join(capture.write(tmp_path / "capture"))
    assert [cost.gpu_recompute_us for cost in profile.lines] == [0] * len(profile.lines)
