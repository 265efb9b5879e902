"""What a step is said to wait for: captures made by hand, a planted fault each, and what only looks like one.

Every share is worked out beside the capture that it is of.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from building import AUTOGRAD, MAIN, CaptureBuilder
from diagnosing import diagnose

from warplint.advice.diagnosis.verdict import Bottleneck, Diagnosis, Phase, Verdict
from warplint.profile.join import join
from warplint.profile.model import Profile
from warplint.profile.sections.device_readings import DeviceReading, device_readings
from warplint.profile.sections.loader_costs import Loader, LoaderLine
from warplint.profile.sections.window_price import WindowPrice
from warplint.report.feed_sentence import feed_sentence

SOURCE = """\
for batch in loader:
    x = batch.cuda()
    y = model(x)
    loss = y.sum()
    loss.backward()
    print(loss.item())
    optimizer.step()
"""
BF16 = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_bf16_TNT"
FP32 = "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(Params)"
TF32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, X>(int)"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"
PINNED = "Memcpy HtoD (Pinned -> Device)"
LOADING = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@pytest.fixture
def capture() -> CaptureBuilder:
    """One step of 1000 us on an H200, the host on line 3 all the time."""
    builder = CaptureBuilder(SOURCE, steps=[0, 1000], window=(0, 1000))
    builder.lines = {MAIN: [(0, 3)]}
    builder.trace.header["deviceProperties"] = [{"id": 0, "name": "NVIDIA H200"}]
    return builder


def joined(builder: CaptureBuilder, folder: Path) -> Profile:
    return join(builder.write(folder / "capture"))


def of(builder: CaptureBuilder, folder: Path) -> Diagnosis:
    return diagnose(joined(builder, folder))


def short(verdict: Verdict) -> tuple[str, str, int]:
    return verdict.bottleneck.value, verdict.cause, verdict.line


def figures(verdict: Verdict) -> dict[str, float | int | str]:
    return {figure.name: figure.value for figure in verdict.evidence}


def busy(builder: CaptureBuilder, start: float, end: float, name: str = BF16) -> None:
    """The GPU works, launched as it begins."""
    builder.trace.kernel(start, start, end, len(builder.trace.events) + 1000, name=name)


# A healthy step.


def test_a_busy_gpu_is_not_accused(capture: CaptureBuilder, tmp_path: Path) -> None:
    busy(capture, 40, 1000)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("none", "", 0)
    assert verdict.share == 0
    assert "Nothing stands out: the GPU works 96% of a step's 1.00 ms" in verdict.sentence
    # 40 us until the kernel began: the longest wait, and no reason to say more.
    assert "for the host to launch, is 4.0%" in verdict.sentence
    looked_at = {name for name in figures(verdict) if name.removesuffix("_share") in set(Bottleneck)}
    assert looked_at == {f"{each.value}_share" for each in Bottleneck if each is not Bottleneck.NONE}
    assert figures(verdict)["traffic_share"] == 0


def test_without_a_gpu_nothing_is_said_of_one(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.header.clear()
    capture.trace.annotation(LOADING, 0, 90)
    diagnosis = of(capture, tmp_path)
    assert short(diagnosis.run) == ("none", "", 0)
    assert "No GPU work was captured" in diagnosis.run.sentence
    assert diagnosis.phases == ()


def test_without_a_gpu_the_host_waits_for_data_all_the_same(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.header.clear()
    capture.lines = {MAIN: [(0, 1), (900, 3)]}
    capture.trace.annotation(LOADING, 0, 900)
    diagnosis = of(capture, tmp_path)
    assert short(diagnosis.run) == ("data", "no workers seen", 1)
    assert diagnosis.run.share == pytest.approx(0.9)
    assert diagnosis.run.sentence.startswith("On this CPU, the step waits 0.90 of its 1.00 ms (90%) for data")
    assert diagnosis.phases == ()


def test_without_a_gpu_workers_with_time_to_spare_are_not_blamed(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.header.clear()
    capture.trace.annotation(LOADING, 0, 900)
    profile = joined(capture, tmp_path)
    profile.loaders = [loader(0.05)]
    profile.loader = [LoaderLine("data.py", 12, 1460.0, 1300.0, 100.0, 60.0, 80, 0.73)]
    assert diagnose(profile).run.bottleneck is Bottleneck.NONE
    profile.loaders = [loader(0.95)]
    assert short(diagnose(profile).run) == ("data", "workers compute", 12)


def test_time_that_reached_no_line_is_owned_up_to(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 0), (300, 3)]}
    busy(capture, 300, 1000)
    verdict = of(capture, tmp_path).run
    assert verdict.bottleneck is Bottleneck.NONE
    assert "30% reached no line" in verdict.sentence


def test_loading_of_kernels_is_no_fault_of_the_program(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.complete("overhead", "Lazy Function Loading", MAIN, 0, 200)
    busy(capture, 200, 1000)
    verdict = of(capture, tmp_path).run
    assert verdict.bottleneck is Bottleneck.NONE
    assert "CUDA took 20% to load kernels" in verdict.sentence


def test_a_trace_without_calls_does_not_tell_of_the_host(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.work(BF16, 400, 1000, 1)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("none", "", 0)
    assert "The GPU idles 40% of a step's 1.00 ms" in verdict.sentence
    assert "has no calls of the host" in verdict.sentence


# data


def waiting_for_data(capture: CaptureBuilder, until: float) -> None:
    capture.lines = {MAIN: [(0, 1), (until, 3)]}
    capture.trace.annotation(LOADING, 0, until)
    busy(capture, until, 1000)


def test_waiting_for_data(capture: CaptureBuilder, tmp_path: Path) -> None:
    waiting_for_data(capture, 300)
    diagnosis = of(capture, tmp_path)
    assert short(diagnosis.run) == ("data", "no workers seen", 1)
    assert diagnosis.run.share == pytest.approx(0.3)
    assert "waits 0.30 of its 1.00 ms (30%) for data" in diagnosis.run.sentence
    assert "train.py:1 `for batch in loader:`" in diagnosis.run.sentence
    phases = {phase: verdict.bottleneck.value for phase, verdict in diagnosis.phases}
    assert phases == {Phase.DATA: "data", Phase.FORWARD: "none"}


def test_a_short_wait_for_data_is_none(capture: CaptureBuilder, tmp_path: Path) -> None:
    waiting_for_data(capture, 90)
    assert of(capture, tmp_path).run.bottleneck is Bottleneck.NONE


def loader(busy_share: float) -> Loader:
    return Loader("Data", 4, 10, 80, 2000.0, 0.0, 8.0, busy_share, 0.05, 0.01)


@pytest.mark.parametrize(
    ("busy_share", "cpu", "waiting", "ready", "cause"),
    [
        (0.95, 1300.0, 100.0, 60.0, "workers compute"),
        (0.95, 100.0, 1300.0, 60.0, "workers wait for storage"),
        (0.95, 100.0, 60.0, 1300.0, "workers lack cores"),
        (0.40, 1300.0, 100.0, 60.0, "workers wait to be asked"),
    ],
)
def test_workers_are_asked_why(
    busy_share: float,
    cpu: float,
    waiting: float,
    ready: float,
    cause: str,
    capture: CaptureBuilder,
    tmp_path: Path,
) -> None:
    waiting_for_data(capture, 300)
    profile = joined(capture, tmp_path)
    profile.loaders = [loader(busy_share)]
    profile.loader = [LoaderLine("data.py", 12, 1460.0, cpu, waiting, ready, 80, 0.73)]
    verdict = diagnose(profile).run
    assert verdict.cause == cause
    # Where the workers are not why, the line that waits is named; else theirs.
    place = ("train.py", 1) if cause == "workers wait to be asked" else ("data.py", 12)
    assert (verdict.file, verdict.line) == place
    assert ("73% of a sample's 2.00 ms is data.py:12" in verdict.sentence) == (verdict.line == 12)
    # 1300, 100 and 60 of a sample's 2000 us.
    parts = "(65% of that computing, 5.0% waiting, 3.0% without a core)"
    assert (parts in verdict.sentence) == (cause == "workers compute")


def test_fetching_is_computing_and_waiting(capture: CaptureBuilder, tmp_path: Path) -> None:
    # Of a sample's 5 ms one line sleeps for 2.2, and two compute for 1.5 and 1.2.
    waiting_for_data(capture, 300)
    profile = joined(capture, tmp_path)
    profile.loaders = [replace(loader(0.99), workers=1, sample_us=5000.0)]
    profile.loader = [
        LoaderLine("data.py", 12, 2200.0, 22.0, 2178.0, 0.0, 80, 0.44),
        LoaderLine("data.py", 13, 1500.0, 1500.0, 0.0, 0.0, 80, 0.30),
        LoaderLine("data.py", 14, 1200.0, 1200.0, 0.0, 0.0, 80, 0.24),
    ]
    verdict = diagnose(profile).run
    assert short(verdict) == ("data", "workers wait for storage", 12)
    # 22 + 1500 + 1200 and 2178 of 5000 us; of the line's 2200, 2178.
    line = "44% of a sample's 5.00 ms is data.py:12: 99% waiting for storage, a lock or another process"
    assert (
        f"for data: its 1 worker fetches 99% of the time (54% of that computing, 44% waiting), and {line}. "
        "Keep the data nearer"
    ) in verdict.sentence
    assert figures(verdict)["computing_share_of_sample"] == pytest.approx(0.5444)
    assert "without a core" not in verdict.sentence
    sentence = feed_sentence(profile)
    assert sentence is not None
    assert sentence.endswith(f"its 1 worker fetches 99% of the time, and {line}")


# sync


def test_lines_of_unlike_fetches_are_not_blamed(capture: CaptureBuilder, tmp_path: Path) -> None:
    waiting_for_data(capture, 300)
    profile = joined(capture, tmp_path)
    # Fetches that were not followed took 3 times as long as those whose lines are known.
    profile.loaders = [replace(loader(0.95), plain_sample_us=6000.0)]
    profile.loader = [LoaderLine("data.py", 12, 1460.0, 1300.0, 100.0, 60.0, 80, 0.73)]
    verdict = diagnose(profile).run
    assert (verdict.cause, verdict.file, verdict.line) == ("no workers seen", "train.py", 1)


def reading_back(capture: CaptureBuilder, waits: bool) -> None:
    """Line 3 launches 390 us of work, line 6 reads four bytes of it back, line 7 launches more in 200 us."""
    capture.lines = {MAIN: [(0, 3), (150, 6), (500, 7)]}
    capture.trace.kernel(90, 100, 498, 1, name=BF16)
    capture.trace.call("cudaMemcpyAsync", 150, 152, 2)
    capture.trace.work("Memcpy DtoH (Device -> Pageable)", 498, 500, 2, size=4)
    if waits:
        capture.trace.call("cudaStreamSynchronize", 152, 500, 3)
    capture.trace.op("aten::add", 500, 700)
    capture.trace.kernel(690, 700, 1000, 4, name=BF16)


def test_a_wait_is_to_blame_for_the_empty_queue_after_it(capture: CaptureBuilder, tmp_path: Path) -> None:
    reading_back(capture, waits=True)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("sync", "values read back", 6)
    # The host waited 348 us. The GPU idled 100 before the first kernel and 200 before the last, and did
    # nothing but the copy for 2: all of it could have been launched meanwhile.
    assert verdict.share == pytest.approx(0.302)
    assert "reads 1 value a step back" in verdict.sentence


def test_the_same_gaps_without_a_wait_are_the_hosts(capture: CaptureBuilder, tmp_path: Path) -> None:
    reading_back(capture, waits=False)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("launch", "late launches", 7)
    assert verdict.share == pytest.approx(0.3)


def test_a_wait_takes_no_more_of_the_idle_time_than_it_lasted(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    # The host waits 50 us, and then launches too slowly for 400.
    capture.lines = {MAIN: [(0, 3), (250, 6), (300, 7)]}
    capture.trace.kernel(0, 0, 300, 1, name=BF16)
    capture.trace.call("cudaStreamSynchronize", 250, 300, 2)
    capture.trace.op("aten::add", 300, 700)
    capture.trace.kernel(699, 700, 1000, 3, name=BF16)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("launch", "late launches", 7)
    assert verdict.share == pytest.approx(0.35)


def test_tiny_copies_are_waits(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 2), (200, 3)]}
    for number in range(4):
        begin = 50 * number
        capture.trace.call("cudaMemcpyAsync", begin, begin + 10, 10 + number)
        capture.trace.work(PAGEABLE, begin + 10, begin + 12, 10 + number, size=512)
        capture.trace.call("cudaStreamSynchronize", begin + 10, begin + 50, 20 + number)
    busy(capture, 200, 1000)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("sync", "tiny copies", 2)
    assert verdict.share == pytest.approx(0.2)
    assert figures(verdict)["copies"] == figures(verdict)["waits"] == 4


def test_synchronizing_calls(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 4), (200, 3)]}
    capture.trace.call("cudaDeviceSynchronize", 0, 200, 1)
    busy(capture, 200, 1000)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("sync", "calls that wait", 4)
    assert verdict.share == pytest.approx(0.2)


def test_waiting_while_the_gpu_works_costs_the_step_nothing(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.call("cudaDeviceSynchronize", 50, 1000, 1)
    busy(capture, 40, 1000)
    assert of(capture, tmp_path).run.bottleneck is Bottleneck.NONE


# launch


def small_kernels(capture: CaptureBuilder, gap: float, length: float) -> None:
    """Line 3 launches kernels in an operator each; the GPU idles for ``gap`` before each."""
    begin = 0.0
    while begin + gap + length <= 1000:
        capture.trace.op("aten::add", begin, begin + gap)
        capture.trace.kernel(begin + gap - 1, begin + gap, begin + gap + length, round(begin) + 1, name=BF16)
        begin += gap + length


def test_small_kernels(capture: CaptureBuilder, tmp_path: Path) -> None:
    small_kernels(capture, gap=16, length=4)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("launch", "small kernels", 3)
    assert verdict.share == pytest.approx(0.8)
    assert (figures(verdict)["kernels"], figures(verdict)["kernel_mean_us"]) == (50, pytest.approx(4))


def test_launching_of_the_backward_pass_is_by_all_its_launches(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    # Line 5 launches one kernel itself; its 600 us of idle time are those of 40 launches of autograd's, which
    # stand on line 3.
    capture.lines = {MAIN: [(0, 3), (400, 5)]}
    busy(capture, 0, 400, "triton_poi_fused_add_0")
    capture.trace.op("aten::mm", 0, 10, sequence=7)
    capture.trace.op("aten::ones_like", 400, 404)
    capture.trace.kernel(403, 403, 405, 900, name=ADD)
    capture.trace.node("MmBackward0", 405, 1000, sequence=7)
    for number in range(40):
        begin = 405 + 14 * number
        capture.trace.op("aten::mm", begin, begin + 12, thread=AUTOGRAD)
        capture.trace.kernel(
            begin + 11, begin + 12, begin + 14, 1000 + number, name="triton_x", thread=AUTOGRAD
        )
    profile = joined(capture, tmp_path)
    profile.windows = [WindowPrice(1, 0.1, 0.0, 0.1, 0.1, 1.0, 1.0, 1.0, 1)]
    verdict = diagnose(profile).run
    assert short(verdict) == ("launch", "small kernels", 5)
    # The forward pass's kernel stands among them on line 3, and did not end too early.
    assert "kernels" not in figures(verdict)
    assert "the host to launch: kernels end before the next is there" in verdict.sentence
    # torch.compile is there already: fusing is no news.
    assert "reduce-overhead" in verdict.sentence


def test_phases_that_share_lines_have_no_kernels_of_their_own(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    # Line 3 launches 20 kernels of 4 us, and its backward 30 more while line 5 waits: 50 in all.
    capture.lines = {MAIN: [(0, 3), (400, 5)]}
    for number in range(20):
        begin = 20 * number
        capture.trace.op("aten::mm", begin, begin + 16, sequence=7)
        capture.trace.kernel(begin + 15, begin + 16, begin + 20, 1000 + number, name=BF16)
    capture.trace.node("MmBackward0", 400, 1000, sequence=7)
    for number in range(30):
        begin = 400 + 20 * number
        capture.trace.op("aten::mm", begin, begin + 16, thread=AUTOGRAD)
        capture.trace.kernel(begin + 15, begin + 16, begin + 20, 2000 + number, name=BF16, thread=AUTOGRAD)
    diagnosis = of(capture, tmp_path)
    assert short(diagnosis.run) == ("launch", "small kernels", 5)
    assert "50 kernels a step, 4 µs long on average, end before" in diagnosis.run.sentence
    phases = dict(diagnosis.phases)
    for phase in (Phase.FORWARD, Phase.BACKWARD):
        assert phases[phase].cause == "small kernels"
        assert "kernels" not in figures(phases[phase])
        assert "launch: kernels end before the next is there" in phases[phase].sentence


@pytest.mark.parametrize(("length", "cause"), [(100, "small kernels"), (101, "late launches")])
def test_long_kernels_are_not_called_small(
    length: float, cause: str, capture: CaptureBuilder, tmp_path: Path
) -> None:
    small_kernels(capture, gap=100, length=length)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("launch", cause, 3)
    assert figures(verdict)["kernel_mean_us"] == pytest.approx(length)
    assert (f"{length} µs long on average" in verdict.sentence) == (cause == "small kernels")


@pytest.mark.parametrize("trains", [True, False])
def test_lines_of_unknown_text_are_the_backward_passes_only_where_autograd_launches(
    trains: bool, capture: CaptureBuilder, tmp_path: Path
) -> None:
    # Line 5 calls an operator that launches after 390 us, from line 3: by itself it launches nothing.
    capture.lines = {MAIN: [(0, 3), (500, 5), (890, 3)]}
    busy(capture, 0, 500)
    capture.trace.op("vllm::attention", 500, 900)
    busy(capture, 890, 950)
    if trains:
        capture.trace.op("aten::mm", 0, 10, sequence=7)
        capture.trace.node("MmBackward0", 950, 999, sequence=7)
        capture.trace.kernel(950, 950, 1000, 7, name=BF16, thread=AUTOGRAD)
    else:
        busy(capture, 950, 1000)
    profile = joined(capture, tmp_path)
    profile.sources.clear()
    phases = {phase: figures(verdict)["phase_us"] for phase, verdict in diagnose(profile).phases}
    if trains:
        assert phases == {Phase.FORWARD: pytest.approx(560), Phase.BACKWARD: pytest.approx(390 + 50)}
    else:
        assert phases == {Phase.FORWARD: pytest.approx(1000)}


def test_launching_counts_when_the_captures_own_part_is_known(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    small_kernels(capture, gap=15, length=85)
    profile = joined(capture, tmp_path)
    verdict = diagnose(profile).run
    assert verdict.bottleneck is Bottleneck.NONE
    assert "the profiler's own doing is not known" in verdict.sentence
    profile.windows = [WindowPrice(1, 0.1, 0.0, 0.1, 0.1, 1.0, 1.0, 1.0, 1)]
    verdict = diagnose(profile).run
    assert short(verdict) == ("launch", "small kernels", 3)
    assert verdict.share == pytest.approx(0.15)


def test_what_recording_adds_to_steps_is_not_launching(capture: CaptureBuilder, tmp_path: Path) -> None:
    # 15 us of idle time before each of ten kernels, but steps were 100 us longer in the window than before,
    # of which the capture counts none as its own: those after the window were as slow.
    small_kernels(capture, gap=15, length=85)
    profile = joined(capture, tmp_path)
    profile.windows = [WindowPrice(1, 0.1, 0.0, 0.1, 0.1, 0.9, 1.0, 1.0, 1)]
    verdict = diagnose(profile).run
    assert verdict.bottleneck is Bottleneck.NONE
    assert figures(verdict)["launch_share"] == pytest.approx(0.15 - 0.10)


def test_each_window_tells_of_its_own_steps_what_recording_added(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    # 150 us of idle time before launches in two steps, one a window: the second was 40 us longer than those
    # before it, the first was not. A window that is left out was, and none of its steps is among these.
    capture.steps = [0, 500, 1000]
    small_kernels(capture, gap=15, length=85)
    profile = joined(capture, tmp_path)
    profile.windows = [
        WindowPrice(1, 0.1, 0.0, 0.1, 0.1, 1.0, 2.0, 1.0, 0),
        WindowPrice(2, 0.1, 0.0, 0.1, 0.1, 0.5, 0.5, 0.5, 1),
        WindowPrice(3, 0.1, 0.0, 0.1, 0.1, 0.46, 0.5, 0.5, 1),
    ]
    verdict = diagnose(profile).run
    assert short(verdict) == ("launch", "small kernels", 3)
    assert verdict.share == pytest.approx(0.15 - 0.04)


def test_recording_may_make_steps_three_times_as_long(capture: CaptureBuilder, tmp_path: Path) -> None:
    # As it did on an H200: 3.578 and 10.67 ms (bench/results/h200/price-many_threads.json).
    small_kernels(capture, gap=75, length=25)
    profile = joined(capture, tmp_path)
    profile.windows = [WindowPrice(1, 0.1, 0.0, 0.1, 0.1, 3.578 / 10.67, 1.0, 1.0, 1)]
    verdict = diagnose(profile).run
    # 750 us of idle time, of which the capture made all but 85.
    assert verdict.bottleneck is Bottleneck.NONE
    assert figures(verdict)["launch_share"] == pytest.approx(0.75 - (1 - 3.578 / 10.67))


def test_steps_that_are_others_than_those_before_the_window_tell_nothing_of_recording(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    # Five times as long: a step that trains after steps that only gather, as in reinforcement learning.
    small_kernels(capture, gap=15, length=85)
    profile = joined(capture, tmp_path)
    profile.windows = [WindowPrice(1, 0.1, 0.0, 0.1, 0.1, 0.2, 1.0, 1.0, 1)]
    verdict = diagnose(profile).run
    assert short(verdict) == ("launch", "small kernels", 3)
    assert verdict.share == pytest.approx(0.15)


def test_a_copy_within_the_gpu_is_a_launch(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.call("cudaMemcpyAsync", 0, 400, 1)
    capture.trace.work("Memcpy DtoD (Device -> Device)", 400, 410, 1, size=4096)
    busy(capture, 410, 1000)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("launch", "late launches", 3)
    assert verdict.share == pytest.approx(0.4)


def test_python_that_launches_nothing(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 3), (600, 4)]}
    busy(capture, 0, 600)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("launch", "Python between launches", 4)
    assert verdict.share == pytest.approx(0.4)


def test_an_optimizer_of_small_kernels(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 3), (600, 7)]}
    busy(capture, 0, 600)
    capture.trace.annotation("Optimizer.step#AdamW.step", 600, 1000)
    for begin in range(600, 1000, 20):
        capture.trace.op("aten::add_", begin, begin + 16)
        capture.trace.kernel(begin + 15, begin + 16, begin + 20, begin, name=ADD)
    diagnosis = of(capture, tmp_path)
    assert short(diagnosis.run) == ("launch", "small kernels", 7)
    assert "`foreach=True`" in diagnosis.run.sentence
    phases = dict(diagnosis.phases)
    assert phases[Phase.OPTIMIZER].share == pytest.approx(0.32)
    assert phases[Phase.FORWARD].bottleneck is Bottleneck.NONE


def starting(capture: CaptureBuilder) -> None:
    """An operator on line 2 keeps the host for 900 us, and launches one kernel at its end."""
    capture.lines = {MAIN: [(0, 2), (900, 3)]}
    capture.trace.op("aten::to", 0, 900)
    capture.trace.kernel(890, 900, 950, 1, name=BF16)
    busy(capture, 950, 1000)


def test_the_start_of_a_program_is_not_launching(capture: CaptureBuilder, tmp_path: Path) -> None:
    starting(capture)
    diagnosis = of(capture, tmp_path)
    assert short(diagnosis.run) == ("none", "", 0)
    assert "The GPU idles 90% of a step's 1.00 ms" in diagnosis.run.sentence
    assert "90% passes before few launches, most of it at train.py:2" in diagnosis.run.sentence
    assert {verdict.bottleneck for _, verdict in diagnosis.phases} == {Bottleneck.NONE}


def test_settled_steps_are_not_its_start(capture: CaptureBuilder, tmp_path: Path) -> None:
    starting(capture)
    profile = joined(capture, tmp_path)
    profile.windows = [WindowPrice(1, 0.1, 0.0, 0.1, 0.1, 1.0, 1.0, 1.0, 1)]
    verdict = diagnose(profile).run
    assert short(verdict) == ("launch", "operators on the host", 2)
    assert verdict.share == pytest.approx(0.9)


def test_how_long_a_launch_takes_at_most(capture: CaptureBuilder, tmp_path: Path) -> None:
    # 300 us before one launch: a profiler may have made it so long, and without one it is no launching.
    capture.lines = {MAIN: [(0, 2), (300, 3)]}
    capture.trace.op("aten::scaled_dot_product_attention", 0, 300)
    capture.trace.kernel(290, 300, 950, 1, name=BF16)
    busy(capture, 950, 1000)
    profile = joined(capture, tmp_path)
    assert short(diagnose(profile).run) == ("launch", "late launches", 2)
    profile.windows = [WindowPrice(1, 0.1, 0.0, 0.1, 0.1, 1.0, 1.0, 1.0, 1)]
    verdict = diagnose(profile).run
    assert short(verdict) == ("launch", "operators on the host", 2)
    assert figures(verdict)["host_us_per_launch"] == pytest.approx(300)


# bandwidth


def copying(capture: CaptureBuilder, name: str, size: int) -> None:
    """Line 2 copies from 10 to 400, and blocks; line 3 computes from 400 on."""
    capture.lines = {MAIN: [(0, 2), (400, 3)]}
    capture.trace.call("cudaMemcpyAsync", 0, 400, 1)
    capture.trace.work(name, 10, 400, 1, size=size)
    busy(capture, 400, 1000)


@pytest.mark.parametrize(
    ("name", "size", "cause", "rate"),
    [
        (PAGEABLE, 3_900_000, "pageable copies", 10.0),
        (PINNED, 3_900_000, "copies beside no kernel", 10.0),
        # 50 GB/s of the 64 that the link of an H200 has.
        (PINNED, 19_500_000, "the link is full", 50.0),
    ],
)
def test_large_copies(
    name: str, size: int, cause: str, rate: float, capture: CaptureBuilder, tmp_path: Path
) -> None:
    copying(capture, name, size)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("bandwidth", cause, 2)
    assert verdict.share == pytest.approx(0.4)
    assert figures(verdict)["copy_gb_s"] == pytest.approx(rate)


def test_the_link_of_an_unknown_device_is_not_said_to_be_full(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.header["deviceProperties"] = [{"id": 0, "name": "Some GPU"}]
    copying(capture, PINNED, 19_500_000)
    verdict = of(capture, tmp_path).run
    assert verdict.cause == "copies beside no kernel"
    assert "link_gb_s" not in figures(verdict)


def test_a_copy_beside_a_kernel_costs_nothing(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 2), (20, 3)]}
    capture.trace.call("cudaMemcpyAsync", 0, 5, 1)
    capture.trace.work(PINNED, 30, 400, 1, size=3_900_000, stream=8)
    busy(capture, 20, 1000)
    assert of(capture, tmp_path).run.bottleneck is Bottleneck.NONE


def test_kernels_that_only_move_memory(capture: CaptureBuilder, tmp_path: Path) -> None:
    busy(capture, 0, 600, ADD)
    busy(capture, 600, 1000)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("bandwidth", "memory traffic", 3)
    assert verdict.share == pytest.approx(0.6)
    assert "a GPU utilisation of 100% hides: any work counts in it) " in verdict.sentence


@pytest.mark.parametrize(
    ("until", "name"), [(400, ADD), (900, "triton_poi_fused_add_relu_0"), (900, "flash_fwd_kernel<bf16>")]
)
def test_what_is_usual_or_fused_is_no_fault(
    until: float, name: str, capture: CaptureBuilder, tmp_path: Path
) -> None:
    busy(capture, 0, until, name)
    busy(capture, until, 1000)
    assert of(capture, tmp_path).run.bottleneck is Bottleneck.NONE


# compute


def test_fp32_on_idle_tensor_cores(capture: CaptureBuilder, tmp_path: Path) -> None:
    busy(capture, 50, 950, FP32)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("compute", "fp32 products", 3)
    assert verdict.share == pytest.approx(0.9)
    # The data sheet's 494.5 over 67.
    assert "tf32 at up to 7.4 times the rate" in verdict.sentence


@pytest.mark.parametrize(
    ("name", "device"),
    [(TF32, "NVIDIA H200"), (BF16, "NVIDIA H200"), (FP32, "Some GPU"), (FP32, "AMD Instinct MI300X")],
)
def test_no_claim_where_tensor_cores_work_or_are_unknown(
    name: str, device: str, capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.header["deviceProperties"] = [{"id": 0, "name": device}]
    busy(capture, 50, 950, name)
    assert of(capture, tmp_path).run.bottleneck is Bottleneck.NONE


def test_a_few_fp32_products_are_no_fault(capture: CaptureBuilder, tmp_path: Path) -> None:
    # An H200's Tensor Cores would save 86% of it: 8.6% of the step.
    busy(capture, 0, 100, FP32)
    busy(capture, 100, 1000)
    assert of(capture, tmp_path).run.bottleneck is Bottleneck.NONE


def test_idle_time_comes_before_slow_work(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 1), (150, 3)]}
    capture.trace.annotation(LOADING, 0, 150)
    busy(capture, 150, 1000, FP32)
    diagnosis = of(capture, tmp_path)
    assert short(diagnosis.run) == ("data", "no workers seen", 1)
    assert dict(diagnosis.phases)[Phase.FORWARD].bottleneck is Bottleneck.COMPUTE


def test_backward_work_is_the_backward_phases(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 3), (300, 5)]}
    capture.trace.op("aten::mm", 0, 10, sequence=7)
    capture.trace.kernel(1, 1, 300, 1, name=FP32)
    capture.trace.node("MmBackward0", 300, 320, sequence=7)
    capture.trace.kernel(301, 301, 1000, 2, name=FP32, thread=AUTOGRAD)
    diagnosis = of(capture, tmp_path)
    phases = dict(diagnosis.phases)
    assert short(diagnosis.run) == ("compute", "fp32 products", 3)
    assert phases[Phase.FORWARD].share == pytest.approx(0.299)
    assert phases[Phase.BACKWARD].share == pytest.approx(0.699)


# allocator, communication, contention


def test_memory_from_the_driver(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.call("cudaFree", 100, 250, 1)
    capture.trace.call("cudaMalloc", 250, 400, 2)
    busy(capture, 0, 100)
    busy(capture, 400, 1000)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("allocator", "memory taken and given back", 3)
    assert verdict.share == pytest.approx(0.3)
    assert figures(verdict)["allocations"] == 2


def test_one_allocation_that_takes_no_time_is_none(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.call("cudaMalloc", 100, 150, 1)
    busy(capture, 0, 1000)
    assert of(capture, tmp_path).run.bottleneck is Bottleneck.NONE


def collective(capture: CaptureBuilder, until: float) -> None:
    """Line 5 launches a collective from 400 to 900; the rest computes, and goes on ``until`` beside it."""
    capture.lines = {MAIN: [(0, 3), (300, 5), (950, 3)]}
    busy(capture, 0, until)
    capture.trace.kernel(400, 400, 900, 77, name=NCCL, stream=9)
    busy(capture, 900, 1000)


def test_collectives_that_nothing_runs_beside(capture: CaptureBuilder, tmp_path: Path) -> None:
    collective(capture, until=400)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("communication", "exposed collectives", 5)
    assert verdict.share == pytest.approx(0.5)
    assert "no kernel runs beside its collectives" in verdict.sentence


def test_what_collectives_ran_alone_is_said_of_all_of_them_only(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    # Two of 200 us with no kernel beside them: the forward pass's on line 5, the optimizer's on line 7.
    capture.lines = {MAIN: [(0, 3), (300, 5), (550, 3), (750, 7)]}
    capture.trace.annotation("Optimizer.step#SGD.step", 750, 1000)
    busy(capture, 0, 300)
    capture.trace.kernel(300, 300, 500, 77, name=NCCL, stream=9)
    busy(capture, 500, 750)
    capture.trace.kernel(750, 750, 950, 78, name=NCCL, stream=9)
    busy(capture, 950, 1000)
    diagnosis = of(capture, tmp_path)
    assert figures(diagnosis.run)["exposed_collective_us"] == pytest.approx(400)
    phases = dict(diagnosis.phases)
    for phase, line in ((Phase.FORWARD, 5), (Phase.OPTIMIZER, 7)):
        assert short(phases[phase]) == ("communication", "exposed collectives", line)
        assert figures(phases[phase])["claimed_us"] == pytest.approx(200)
        assert "exposed_collective_us" not in figures(phases[phase])
        assert "collectives that run alone" in phases[phase].sentence


def test_collectives_beside_computing(capture: CaptureBuilder, tmp_path: Path) -> None:
    collective(capture, until=900)
    assert of(capture, tmp_path).run.bottleneck is Bottleneck.NONE


def test_kernels_that_others_slow_down(capture: CaptureBuilder, tmp_path: Path) -> None:
    # The same kernel takes 100 us alone in two steps, and 300 beside another in the third.
    capture.steps = [0, 300, 600, 1000]
    for begin in (0, 300):
        capture.trace.kernel(begin, begin, begin + 100, begin + 1, name=BF16)
        capture.trace.kernel(begin + 100, begin + 100, begin + 290, begin + 2, name=TF32)
    capture.trace.kernel(600, 600, 900, 601, name=BF16)
    capture.trace.kernel(650, 650, 990, 602, name=TF32, stream=8)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("contention", "work beside it", 3)
    # 200 us more for the one; the other took 190 alone and 340 beside it: 150. Of three steps, in which the
    # GPU was busy for 290, 290 and 390 us with kernels of 1,220: what overlaps counts once.
    assert figures(verdict)["contended_us"] == pytest.approx((200 + 150) / 3 * 970 / 1220)


# What a share is of


def test_the_captures_own_time_is_no_part_of_the_step(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.lines = {MAIN: [(0, 1), (600, 3)]}
    capture.trace.annotation(LOADING, 500, 600)
    capture.trace.complete("overhead", "Activity Buffer Request", MAIN, 0, 500)
    busy(capture, 600, 1000)
    verdict = of(capture, tmp_path).run
    assert short(verdict) == ("data", "no workers seen", 1)
    assert verdict.share == pytest.approx(100 / 500)
    assert figures(verdict)["step_us"] == pytest.approx(500)
    assert figures(verdict)["capture_share"] == pytest.approx(0.5)


def test_the_same_capture_gets_the_same_words(capture: CaptureBuilder, tmp_path: Path) -> None:
    reading_back(capture, waits=True)
    profile = joined(capture, tmp_path)
    assert diagnose(profile) == diagnose(profile)


def test_a_high_reading_is_said_to_hide_the_wait(capture: CaptureBuilder, tmp_path: Path) -> None:
    waiting_for_data(capture, 300)
    profile = joined(capture, tmp_path)
    assert "GPU utilisation" not in diagnose(profile).run.sentence
    profile.device_readings = [DeviceReading("nvml", 6, 0.98)]
    verdict = diagnose(profile).run
    assert verdict.bottleneck is Bottleneck.DATA
    assert "a GPU utilisation of 98% hides: any work counts in it) " in verdict.sentence


def test_readings_are_means_of_what_was_read() -> None:
    samples = [{"source": "nvml", "kernel_active_percent": percent} for percent in (33, 33, 48)]
    assert device_readings([*samples, {"source": "nvml", "power_w": 100.0}]) == [
        DeviceReading("nvml", 3, pytest.approx(0.38))
    ]
