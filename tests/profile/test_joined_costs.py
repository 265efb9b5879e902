"""Whole captures, made by hand so that every figure can be worked out on paper."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from building import AUTOGRAD, MAIN, CaptureBuilder

from warplint.profile.join import join
from warplint.profile.model import IdleCause, KernelCost, LineCost, Profile

SOURCE = """\
for batch in loader:
    x = batch.cuda()
    y = model(x)
    loss = y.sum()
    loss.backward()
    print(loss.item())
    optimizer.step()
"""


@pytest.fixture
def capture() -> CaptureBuilder:
    """One step of 1000 us, of which the host spends the first 100 on each of lines 1 to 6, then is on 7."""
    builder = CaptureBuilder(SOURCE, steps=[0, 1000], window=(0, 1000))
    builder.lines = {MAIN: [(0, 1), (100, 2), (200, 3), (300, 4), (400, 5), (500, 6), (600, 7)]}
    builder.trace.header["deviceProperties"] = [{"id": 0, "name": "NVIDIA H200"}]
    return builder


def joined(builder: CaptureBuilder, folder: Path) -> Profile:
    return join(builder.write(folder / "capture"))


def at(profile: Profile, line: int) -> LineCost:
    return next(cost for cost in profile.lines if cost.line == line)


def idle(profile: Profile, line: int) -> dict[str, float]:
    return {cause.value: us for cause, us in at(profile, line).idle_us.items()}


def test_wall_time_is_busy_and_idle(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.kernel(210, 220, 320, 1)
    capture.trace.kernel(310, 320, 380, 2)
    profile = joined(capture, tmp_path)
    totals = profile.totals
    assert (totals.wall_us, totals.gpu_busy_us, totals.gpu_idle_us) == (1000, 160, 840)
    assert (totals.steps, totals.kernels, totals.launches, totals.kernel_us) == (1, 2, 2, 160)
    assert totals.device == "NVIDIA H200"
    assert totals.torch == "2.13.0"
    assert (at(profile, 3).busy_us, at(profile, 4).busy_us) == (100, 60)
    assert at(profile, 3).share == pytest.approx((100 + 20) / 1000)
    assert profile.lines[0].line == 7


def test_every_line_is_charged_the_idle_time_it_stood_in(capture: CaptureBuilder, tmp_path: Path) -> None:
    # The GPU works from 250 to 450: lines 3 and 5 share their hundred with it, line 4 has no idle time.
    capture.trace.kernel(210, 250, 450, 1)
    profile = joined(capture, tmp_path)
    spent = {cost.line: cost.total_idle_us for cost in profile.lines}
    assert spent == {1: 100, 2: 100, 3: 50, 4: 0, 5: 50, 6: 100, 7: 400}
    assert idle(profile, 3) == {"launch": 1, "host": 49}


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("cudaStreamSynchronize", IdleCause.SYNC),
        ("cudaMemcpyAsync", IdleCause.COPY),
        ("cudaMemcpy", IdleCause.SYNC),
        ("cudaMalloc", IdleCause.ALLOC),
        ("cudaLaunchKernel", IdleCause.LAUNCH),
        ("cudaEventQuery", IdleCause.HOST),
    ],
)
def test_cause_is_what_the_host_was_in(
    name: str, cause: IdleCause, capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.kernel(0, 0, 10, 1)
    capture.trace.call(name, 130, 170, 2)
    profile = joined(capture, tmp_path)
    rest = {} if cause is IdleCause.HOST else {IdleCause.HOST: 60.0}
    assert at(profile, 2).idle_us == {cause: 100.0 - sum(rest.values()), **rest}


def test_loading_data_is_the_cause_whatever_the_loader_does(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.kernel(0, 0, 10, 1)
    capture.trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 20, 90)
    capture.trace.call("cudaStreamSynchronize", 30, 40, 2)
    assert idle(joined(capture, tmp_path), 1) == {"data": 70, "host": 20}


def test_data_loaded_ahead_on_another_thread_is_no_cause(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.kernel(0, 0, 10, 1)
    capture.trace.annotation("enumerate(DataLoader)#Prefetch.__next__", 100, 200, thread=999)
    assert idle(joined(capture, tmp_path), 2) == {"host": 100}


def test_an_operator_is_launching_when_it_launches_and_host_work_when_not(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.op("aten::linear", 210, 240)
    capture.trace.op("aten::addmm", 215, 235)
    capture.trace.kernel(220, 240, 245, 1)
    capture.trace.op("aten::arange", 250, 290)
    assert idle(joined(capture, tmp_path), 3) == {"launch": 30, "host": 65}


def test_other_threads_are_no_cause(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.kernel(0, 0, 10, 1)
    capture.trace.call("cudaEventSynchronize", 100, 200, 2, thread=999)
    assert idle(joined(capture, tmp_path), 2) == {"host": 100}


def test_waiting_in_backward_has_the_autograd_threads_cause_on_the_backward_line(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    trace = capture.trace
    trace.op("aten::mm", 210, 220, sequence=1)
    trace.kernel(211, 215, 225, 1)
    trace.node("MmBackward0", 420, 480, sequence=1)
    trace.kernel(440, 450, 470, 2, thread=AUTOGRAD)
    profile = joined(capture, tmp_path)
    # The forward line is charged the work, the backward line the waiting for it.
    assert (at(profile, 3).gpu_forward_us, at(profile, 3).gpu_backward_us) == (10, 20)
    assert at(profile, 3).launches == 2
    assert idle(profile, 5) == {"launch": 40, "host": 40}


def test_a_hooks_own_line_on_an_autograd_thread_is_charged_its_idle_time(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    trace = capture.trace
    trace.node("MmBackward0", 410, 490)
    trace.kernel(412, 412, 420, 1, thread=AUTOGRAD)
    capture.lines[AUTOGRAD] = [(430, 4), (470, 0)]
    profile = joined(capture, tmp_path)
    assert idle(profile, 4) == {"host": 100, "launch": 40}
    # Line 5 has 100 less 8 of work and the hook's 40; its node launches, so 410 to 490 is launching.
    assert idle(profile, 5) == {"host": 20, "launch": 32}


def test_phases(capture: CaptureBuilder, tmp_path: Path) -> None:
    trace = capture.trace
    trace.op("aten::mm", 210, 220, sequence=1)
    trace.kernel(211, 215, 225, 1)
    trace.node("MmBackward0", 420, 480, sequence=1)
    trace.kernel(440, 450, 470, 2, thread=AUTOGRAD)
    trace.annotation("Optimizer.step#SGD.step", 605, 650)
    trace.kernel(610, 620, 625, 3)
    profile = joined(capture, tmp_path)
    phases = {
        cost.line: (cost.gpu_forward_us, cost.gpu_backward_us, cost.gpu_optimizer_us)
        for cost in profile.lines
        if cost.gpu_us
    }
    assert phases == {3: (10, 20, 0), 7: (0, 0, 5)}


def test_copies_bytes_and_waits(capture: CaptureBuilder, tmp_path: Path) -> None:
    trace = capture.trace
    trace.call("cudaMemcpyAsync", 110, 115, 1)
    trace.work("Memcpy HtoD (Pageable -> Device)", 112, 118, 1, size=4096)
    trace.call("cudaStreamSynchronize", 116, 120, 2)
    trace.call("cudaMemcpyAsync", 510, 512, 3)
    trace.work("Memcpy DtoD (Device -> Device)", 511, 515, 3, size=64)
    trace.call("cudaMemcpy", 520, 560, 4)
    trace.work("Memcpy DtoH (Device -> Pageable)", 525, 555, 4, size=8)
    profile = joined(capture, tmp_path)
    first, second = at(profile, 2), at(profile, 6)
    assert (first.copies, first.copy_bytes, first.waits, first.wait_us, first.launches) == (1, 4096, 1, 4, 0)
    assert (second.copies, second.copy_bytes, second.waits, second.wait_us) == (1, 8, 1, 40)
    assert first.kernels == [KernelCost("Memcpy HtoD (Pageable -> Device)", 6, 1)]
    totals = profile.totals
    assert (totals.copies, totals.copy_bytes, totals.waits, totals.wait_us) == (2, 4104, 2, 44)
    assert (totals.kernels, totals.kernel_us, totals.gpu_busy_us) == (0, 0, 40)


def test_all_kernels_of_a_graph_go_to_the_line_that_launched_it(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.call("cudaGraphLaunch", 210, 220, 1)
    for start in (220, 240, 260):
        capture.trace.work("kernel", start, start + 10, 1)
    profile = joined(capture, tmp_path)
    assert (at(profile, 3).launches, at(profile, 3).busy_us) == (1, 30)
    assert at(profile, 3).kernels == [KernelCost("kernel", 30, 3)]
    assert not any("no record" in note for note in profile.notes)


def test_a_call_of_unknown_name_that_started_work_is_a_launch(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.call("cudaLaunchSomethingNew", 210, 211, 1)
    capture.trace.work("kernel", 215, 225, 1)
    profile = joined(capture, tmp_path)
    assert (at(profile, 3).launches, at(profile, 3).busy_us) == (1, 10)


def test_records_that_do_not_meet_are_counted_and_said(capture: CaptureBuilder, tmp_path: Path) -> None:
    trace = capture.trace
    trace.call("cudaLaunchKernel", 210, 211, 1)
    trace.call("cudaMemsetAsync", 212, 213, 4)
    trace.work("orphan", 300, 340, 2)
    trace.kernel(350, 345, 360, 3)
    profile = joined(capture, tmp_path)
    assert profile.totals.unattributed_us == 40
    assert [note for note in profile.notes if note.startswith("1 ")] == [
        "1 launches have no record of their kernel",
        "1 kernels or copies have no launch, and so no line",
        "1 kernels or copies begin before their launch by the GPU's clock",
    ]


def test_only_the_time_between_step_boundaries_counts(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.steps = [150, 450, 750]
    # Launched before the first boundary, it works on after it: busy time, but no launch of these steps.
    capture.trace.kernel(110, 120, 180, 1)
    capture.trace.kernel(210, 220, 230, 2)
    # Launched within, it works beyond the last boundary: all its own time, busy only within.
    capture.trace.kernel(740, 745, 765, 3)
    capture.trace.kernel(800, 810, 900, 4)
    profile = joined(capture, tmp_path)
    totals = profile.totals
    assert (totals.steps, totals.wall_us, totals.gpu_busy_us) == (2, 600, 30 + 10 + 5)
    assert (totals.kernels, totals.launches, totals.kernel_us) == (2, 2, 30)
    assert (at(profile, 2).busy_us, at(profile, 2).launches) == (30, 0)
    assert (at(profile, 7).busy_us, at(profile, 7).gpu_forward_us) == (5, 20)


def test_without_two_boundaries_the_whole_window_counts(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.steps = [500]
    capture.trace.kernel(210, 220, 230, 2)
    totals = joined(capture, tmp_path).totals
    assert (totals.steps, totals.wall_us, totals.gpu_busy_us) == (0, 1000, 10)


def test_without_a_gpu_lines_are_charged_where_the_host_stood(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.op("aten::mm", 210, 290)
    capture.lines[MAIN].append((900, 0))
    profile = joined(capture, tmp_path)
    totals = profile.totals
    assert (totals.device, totals.on_gpu) == ("cpu", False)
    assert (totals.wall_us, totals.gpu_busy_us, totals.gpu_idle_us) == (1000, 0, 0)
    assert {cost.line: cost.cpu_us for cost in profile.lines} == {
        1: 100,
        2: 100,
        3: 100,
        4: 100,
        5: 100,
        6: 100,
        7: 300,
    }
    assert totals.unattributed_us == 100
    assert profile.lines[0].share == pytest.approx(0.3)


@pytest.mark.parametrize("seed", range(20))
def test_sums_hold_whatever_is_recorded(seed: int, capture: CaptureBuilder, tmp_path: Path) -> None:
    chance = random.Random(seed)
    names = ["cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaMalloc", "cudaEventQuery"]

    def when() -> float:
        return chance.randrange(-50_000, 1_050_000) / 1000

    for correlation in range(chance.randrange(1, 60)):
        start, thread = when(), chance.choice([MAIN, AUTOGRAD, 999])
        capture.trace.call(
            chance.choice(names), start, start + chance.randrange(40_000) / 1000, correlation, thread
        )
        if chance.random() < 0.8:
            begin = start + chance.randrange(-1_000, 50_000) / 1000
            capture.trace.work("kernel", begin, begin + chance.randrange(30_000) / 1000, correlation)
    for sequence in range(chance.randrange(20)):
        start = when()
        capture.trace.op("aten::mm", start, start + 20, sequence=sequence)
        start = when()
        capture.trace.node("MmBackward0", start, start + 30, sequence=sequence)
    start = when()
    capture.trace.annotation("enumerate(DataLoader)#Iter.__next__", start, start + 100)
    capture.trace.kernel(1, 2, 3, 10_000)
    capture.lines[AUTOGRAD] = sorted((when(), chance.randrange(8)) for _ in range(10))
    profile = joined(capture, tmp_path)
    totals = profile.totals
    assert totals.gpu_busy_us + totals.gpu_idle_us == pytest.approx(totals.wall_us, abs=1e-6)
    charged_busy = sum(cost.busy_us for cost in profile.lines)
    charged_idle = sum(cost.total_idle_us for cost in profile.lines)
    assert charged_busy + charged_idle + totals.unattributed_us == pytest.approx(totals.wall_us, abs=1e-6)
    assert sum(cost.cpu_us for cost in profile.lines) == pytest.approx(1000, abs=1e-6)
    assert sum(cost.share for cost in profile.lines) == pytest.approx(
        1 - totals.unattributed_us / totals.wall_us
    )
