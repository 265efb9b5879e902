"""Which line caused what a thread did."""

from __future__ import annotations

from array import array
from pathlib import Path

from building import AUTOGRAD, MAIN, TraceBuilder

from warplint.capture.layout import RawSource
from warplint.profile.attribution.charge import Charger, Phase
from warplint.profile.kineto.clock import Pair, fit_clock
from warplint.profile.raw.process import RawProcess, RawWindow
from warplint.profile.timeline import NOWHERE, Places, Timeline

OTHER = 300
SOURCE = "\n".join(f"line{number}" for number in range(1, 21)) + "\n"


class Case:
    """A trace and the lines of its threads, on one clock, in microseconds."""

    def __init__(self, trace: TraceBuilder, lines: dict[int, list[tuple[float, int]]]) -> None:
        parsed = trace.parsed()
        fit_clock([Pair(-parsed.origin_us * 1000 + 5_000_000_000, 0)], []).apply(parsed)
        self.places = Places(RawProcess(Path("raw"), sources={1: RawSource(1, "train.py", "", SOURCE)}))
        window = RawWindow(0, 0)
        for thread, events in lines.items():
            flat = [figure for time, line in events for figure in (int(time * 1000), 1 if line else 0, line)]
            window.lines[thread] = array("q", flat)
        self.charger = Charger(parsed, Timeline(window, self.places), MAIN)

    def line(self, thread: int, time: float) -> int:
        place = self.charger.place(thread, int(time * 1000))
        return 0 if place == NOWHERE else self.places.all[place].line

    def phase(self, thread: int, time: float) -> Phase:
        return self.charger.phase(thread, int(time * 1000))


def test_forward_work_is_the_line_of_its_thread() -> None:
    trace = TraceBuilder()
    trace.op("aten::mm", 10, 20, sequence=1)
    case = Case(trace, {MAIN: [(0, 1), (5, 2), (30, 3)]})
    assert case.line(MAIN, 12) == 2
    assert case.phase(MAIN, 12) is Phase.FORWARD
    assert case.line(OTHER, 12) == 0


def test_without_operators_autograds_threads_work_for_the_line_that_waits_for_them() -> None:
    trace = TraceBuilder()
    trace.call("cudaLaunchKernel", 12, 13, 1, AUTOGRAD)
    case = Case(trace, {MAIN: [(0, 1), (10, 9)], OTHER: [(0, 4)]})
    assert case.line(AUTOGRAD, 12) == 9
    assert case.phase(AUTOGRAD, 12) is Phase.BACKWARD
    assert case.line(OTHER, 12) == 4
    assert case.phase(OTHER, 12) is Phase.FORWARD
    assert case.phase(MAIN, 12) is Phase.FORWARD


def test_backward_work_follows_the_arrow_even_against_the_number() -> None:
    trace = TraceBuilder()
    trace.op("aten::mm", 10, 20, sequence=1)
    trace.op("aten::relu", 40, 50, sequence=1)
    trace.node("MmBackward0", 100, 120, sequence=1)
    trace.op("MmBackward0", 101, 119, AUTOGRAD, sequence=1, forward_thread=1)
    trace.arrow(1, (MAIN, 10), (AUTOGRAD, 101))
    case = Case(trace, {MAIN: [(0, 2), (30, 3), (90, 9)]})
    assert case.line(AUTOGRAD, 110) == 2
    assert case.line(AUTOGRAD, 119.5) == 2
    assert case.phase(AUTOGRAD, 110) is Phase.BACKWARD


def test_of_operators_that_share_a_number_the_one_that_starts_last_made_the_node() -> None:
    trace = TraceBuilder()
    # An in-place operation without a graph carries the number of the next node's operator.
    trace.op("aten::add_", 10, 12, sequence=4)
    trace.op("aten::linear", 20, 30, sequence=4)
    trace.op("aten::addmm", 22, 28, sequence=4)
    trace.op("aten::sum", 40, 42, sequence=5)
    trace.node("AddmmBackward0", 100, 120, sequence=4)
    case = Case(trace, {MAIN: [(0, 1), (15, 2), (35, 3), (90, 9)]})
    assert case.line(AUTOGRAD, 110) == 2


def test_operators_after_the_backward_do_not_count() -> None:
    trace = TraceBuilder()
    trace.op("aten::mm", 10, 20, sequence=4)
    trace.node("MmBackward0", 100, 120, sequence=4)
    trace.op("aten::mm", 200, 220, sequence=4)
    case = Case(trace, {MAIN: [(0, 2), (90, 9), (190, 3)]})
    assert case.line(AUTOGRAD, 110) == 2


def test_numbers_of_two_forward_threads_are_told_apart_by_what_arrows_teach() -> None:
    trace = TraceBuilder()
    trace.op("aten::mm", 10, 20, OTHER, sequence=1)
    trace.op("aten::mm", 12, 22, MAIN, sequence=1)
    trace.op("aten::mm", 24, 26, OTHER, sequence=2)
    trace.node("MmBackward0", 100, 110, sequence=2)
    trace.op("MmBackward0", 101, 109, AUTOGRAD, sequence=2, forward_thread=1)
    trace.arrow(1, (OTHER, 24), (AUTOGRAD, 101))
    trace.node("MmBackward0", 120, 130, sequence=1)
    case = Case(trace, {MAIN: [(0, 2), (90, 9)], OTHER: [(0, 7)]})
    # torch's forward thread 1 is OTHER, though MAIN's operator with the number starts later.
    assert case.line(AUTOGRAD, 125) == 7


def test_gradient_accumulation_and_collectives_are_the_backward_line() -> None:
    trace = TraceBuilder()
    trace.op("aten::mm", 10, 20, sequence=4)
    trace.node("torch::autograd::AccumulateGrad", 100, 120)
    trace.op("c10d::allreduce_", 105, 110, AUTOGRAD)
    case = Case(trace, {MAIN: [(0, 2), (90, 9)]})
    assert case.line(AUTOGRAD, 107) == 9
    assert case.phase(AUTOGRAD, 107) is Phase.BACKWARD


def test_a_node_whose_forward_was_before_the_window_is_the_backward_line() -> None:
    trace = TraceBuilder()
    trace.node("MmBackward0", 100, 120, sequence=4)
    assert Case(trace, {MAIN: [(0, 9)]}).line(AUTOGRAD, 110) == 9


def test_own_line_of_a_hook_wins_only_while_it_runs() -> None:
    trace = TraceBuilder()
    trace.op("aten::mm", 10, 20, sequence=4)
    trace.node("MmBackward0", 100, 140, sequence=4)
    case = Case(trace, {MAIN: [(0, 2), (90, 9)], AUTOGRAD: [(110, 12), (120, 0)]})
    assert [case.line(AUTOGRAD, time) for time in (105, 115, 125)] == [2, 12, 2]


def test_backward_on_the_calling_thread() -> None:
    trace = TraceBuilder()
    trace.op("aten::mm", 10, 20, sequence=4)
    trace.op("aten::relu", 30, 40, sequence=5)
    trace.node("ReluBackward0", 100, 110, MAIN, sequence=5)
    trace.node("MmBackward0", 120, 140, MAIN, sequence=4)
    trace.node("torch::autograd::AccumulateGrad", 150, 160, MAIN)
    # The backward stands on line 9; a hook on line 12 runs within the second node and returns to it.
    case = Case(trace, {MAIN: [(0, 2), (25, 3), (90, 9), (125, 12), (130, 9)]})
    assert [case.line(MAIN, time) for time in (105, 122, 127, 135, 155)] == [3, 2, 12, 2, 9]
    assert case.line(MAIN, 115) == 9
    assert case.phase(MAIN, 115) is Phase.FORWARD


def test_backward_on_a_second_thread_is_that_threads_line() -> None:
    trace = TraceBuilder()
    trace.node("torch::autograd::AccumulateGrad", 150, 160, OTHER)
    case = Case(trace, {MAIN: [(0, 2)], OTHER: [(0, 9)]})
    assert case.line(OTHER, 155) == 9


def test_reentrant_backward_inside_a_node_keeps_both_apart() -> None:
    trace = TraceBuilder()
    trace.op("aten::exp", 10, 15, sequence=1)
    trace.op("aten::checkpoint", 20, 25, sequence=2)
    trace.node("CheckpointFunctionBackward", 100, 200, sequence=2)
    trace.node("ExpBackward0", 120, 140, sequence=1)
    trace.op("ExpBackward0", 121, 139, AUTOGRAD, sequence=1, forward_thread=1)
    trace.arrow(1, (MAIN, 10), (AUTOGRAD, 121))
    case = Case(trace, {MAIN: [(0, 2), (18, 3), (90, 9)]})
    assert [case.line(AUTOGRAD, time) for time in (110, 130, 150)] == [3, 2, 3]


def test_second_derivative_follows_a_node_made_in_the_first_backward() -> None:
    trace = TraceBuilder()
    trace.op("aten::pow", 10, 15, sequence=1)
    trace.node("PowBackward0", 100, 120, sequence=1)
    trace.op("aten::mul", 105, 110, AUTOGRAD, sequence=2)
    trace.node("MulBackward0", 200, 220, sequence=2)
    case = Case(trace, {MAIN: [(0, 2), (90, 8), (190, 9)]})
    assert case.line(AUTOGRAD, 210) == 2


def test_optimizer_phase_by_annotation_of_its_thread() -> None:
    trace = TraceBuilder()
    trace.op("aten::add", 12, 13)
    trace.annotation("Optimizer.step#AdamW.step", 10, 20)
    trace.annotation("Optimizer.zero_grad#AdamW.zero_grad", 30, 40)
    trace.annotation("enumerate(DataLoader)#_Iter.__next__", 50, 60)
    case = Case(trace, {MAIN: [(0, 2)]})
    found = [case.phase(MAIN, time) for time in (5, 10, 25, 35, 55)]
    expected = [Phase.FORWARD, Phase.OPTIMIZER, Phase.FORWARD, Phase.OPTIMIZER, Phase.FORWARD]
    assert found == expected
    assert case.phase(AUTOGRAD, 15) is Phase.FORWARD
