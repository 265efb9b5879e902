"""Where the host is held up and by what, why the GPU idles without the host's fault, and copies that nothing
hides."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from building import AUTOGRAD, MAIN, CaptureBuilder

from warplint.profile.attribution.felt import THRESHOLDS
from warplint.profile.join import join
from warplint.profile.model import FeltWait, IdleCause, LineCost, Profile

SOURCE = """\
for batch in loader:
    x = batch.cuda()
    y = model(x)
    loss = y.sum()
    loss.backward()
    print(loss.item())
    optimizer.step()
"""
QUEUE = Path(__file__).parent / "data" / "h200-full-queue.tar.xz"


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


def felt_at(profile: Profile, line: int) -> FeltWait:
    (wait,) = [wait for wait in profile.felt if wait.line == line]
    return wait


def overhead(builder: CaptureBuilder, name: str, start: float, end: float) -> None:
    """As Kineto writes it: on thread 0."""
    builder.trace.complete("overhead", name, 0, start, end)


def test_a_wait_names_the_line_whose_work_it_waited_for_longest(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.kernel(210, 220, 530, 1, name="product")
    capture.trace.kernel(310, 530, 590, 2, name="sum")
    capture.trace.kernel(320, 590, 595, 3, name="other")
    capture.trace.call("cudaStreamSynchronize", 505, 598, 4)
    profile = joined(capture, tmp_path)
    # Of the wait's 93 us the product ran 25, the sum 60 and the other kernel of that line 5.
    assert felt_at(profile, 6) == FeltWait("train.py", 6, "sync", 93, 1, "train.py", 4, "sum")
    cost = at(profile, 6)
    assert (cost.felt_us, cost.felt_sync_us, cost.wait_us, cost.busy_us) == (93, 93, 93, 0)
    assert (profile.totals.felt_us, profile.totals.felt_data_us) == (93, 0)


def test_a_wait_in_which_nothing_runs_has_no_cause(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.kernel(210, 220, 230, 1)
    capture.trace.call("cudaDeviceSynchronize", 510, 515, 2)
    assert felt_at(joined(capture, tmp_path), 6) == FeltWait("train.py", 6, "sync", 5, 1, "", 0, "")


def test_waits_of_threads_that_are_not_the_hosts_are_nobodys(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.kernel(210, 220, 230, 1)
    capture.trace.call("cudaStreamSynchronize", 510, 590, 2, thread=999)
    assert joined(capture, tmp_path).felt == []


def test_waits_on_autograds_threads_count_on_the_line_that_caused_them(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.op("aten::mm", 210, 215, sequence=7)
    capture.trace.node("MmBackward0", 410, 490, sequence=7)
    capture.trace.kernel(212, 220, 470, 1)
    capture.trace.call("cudaStreamSynchronize", 420, 475, 2, thread=AUTOGRAD)
    assert felt_at(joined(capture, tmp_path), 3).us == 55


def test_copies_that_block_are_told_from_copies_that_are_only_queued(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.call("cudaMemcpyAsync", 110, 190, 1)
    capture.trace.work("Memcpy HtoD (Pageable -> Device)", 120, 185, 1, size=4096)
    capture.trace.call("cudaMemcpyAsync", 210, 215, 2)
    capture.trace.work("Memcpy HtoD (Pinned -> Device)", 220, 290, 2, size=4096)
    capture.trace.call("cudaMemcpy", 310, 320, 3)
    capture.trace.work("Memcpy DtoH (Device -> Pageable)", 312, 318, 3, size=4)
    profile = joined(capture, tmp_path)
    assert [(wait.line, wait.part, wait.us) for wait in profile.felt] == [(2, "copy", 80), (4, "copy", 10)]
    assert felt_at(profile, 2).cause == "Memcpy HtoD (Pageable -> Device)"
    # A call that copies and waits is held up once.
    assert (at(profile, 4).felt_us, at(profile, 4).wait_us) == (10, 10)


def test_allocations_hold_the_host_up(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.kernel(110, 120, 400, 1)
    capture.trace.call("cudaFree", 210, 260, 2)
    capture.trace.call("cudaMalloc", 260, 290, 3)
    cost = at(joined(capture, tmp_path), 3)
    assert (cost.felt_us, cost.felt_alloc_us) == (80, 80)


def test_waits_for_data_count_on_the_lines_they_are_spent_on(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 20, 260)
    capture.trace.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 950, 1100)
    capture.trace.annotation("enumerate(DataLoader)#Other.__next__", 300, 390, thread=999)
    capture.trace.kernel(310, 320, 330, 1)
    profile = joined(capture, tmp_path)
    assert {cost.line: cost.felt_data_us for cost in profile.lines if cost.felt_us} == {
        1: 80,
        2: 100,
        3: 60,
        7: 50,
    }
    assert profile.totals.felt_data_us == 290
    assert felt_at(profile, 2) == FeltWait("train.py", 2, "data", 100, 0, "", 0, "")


def test_a_copy_that_the_loader_waits_for_is_a_wait_for_data_alone(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 20, 60)
    capture.trace.call("cudaStreamSynchronize", 30, 50, 1)
    capture.trace.kernel(310, 320, 330, 2)
    assert joined(capture, tmp_path).totals.felt_us == 40


def test_without_a_gpu_waits_for_data_are_felt_too(capture: CaptureBuilder, tmp_path: Path) -> None:
    capture.trace.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 20, 80)
    profile = joined(capture, tmp_path)
    assert (profile.totals.device, at(profile, 1).felt_data_us, profile.totals.felt_us) == ("cpu", 60, 60)


def test_launches_into_a_full_queue_are_felt_by_cuptis_record(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.kernel(110, 120, 390, 1, name="long")
    capture.trace.call("cudaLaunchKernel", 210, 290, 2)
    overhead(capture, "Command Buffer Full", 220, 285)
    capture.trace.work("short", 390, 395, 2)
    profile = joined(capture, tmp_path)
    assert felt_at(profile, 3) == FeltWait("train.py", 3, "queue", 65, 1, "train.py", 2, "long")
    assert at(profile, 3).felt_queue_us == 65


def test_a_full_queue_is_inferred_where_cupti_does_not_record_it(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    # A thousand launches of a tenth of a microsecond, none of which is done, then one of ten.
    for number in range(THRESHOLDS.full_queue):
        begin = 200 + number * 0.2
        capture.trace.call("cudaLaunchKernel", begin, begin + 0.1, number + 1)
        capture.trace.work("kernel", 400 + number * 0.2, 400 + number * 0.2 + 0.2, number + 1)
    # Not long by its kind, though as many are waiting: a graph is launched once, and nobody knows its usual
    # time.
    for correlation, (name, begin, end) in enumerate(
        [("cudaLaunchKernel", 500, 510), ("cudaGraphLaunch", 512, 560)], THRESHOLDS.full_queue + 1
    ):
        capture.trace.call(name, begin, end, correlation)
        capture.trace.work("kernel", 700, 701, correlation)
    assert joined(capture, tmp_path / "working").felt == []
    # All at once, at the end: now none is done when the long launch begins.
    for event in capture.trace.events:
        if event["cat"] == "kernel":
            event["ts"] += 200
    profile = joined(capture, tmp_path / "waiting")
    assert [(wait.line, wait.part, wait.count) for wait in profile.felt] == [(6, "queue", 1)]
    assert felt_at(profile, 6).us == pytest.approx(10 - 0.1)


@pytest.fixture(scope="module")
def queue_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    unpacked = tmp_path_factory.mktemp("h200")
    with tarfile.open(QUEUE) as archive:
        archive.extractall(unpacked, filter="data")
    return unpacked / "h200-full-queue"


def events_of(folder: Path) -> list[dict[str, object]]:
    (trace,) = folder.glob("*.trace.json")
    events: list[dict[str, object]] = json.loads(trace.read_text())["traceEvents"]
    return events


def test_a_planted_full_queue_is_felt_on_its_line_and_is_no_idle_time(queue_folder: Path) -> None:
    profile = join(queue_folder)
    full = [event for event in events_of(queue_folder) if event["name"] == "Command Buffer Full"]
    (wait,) = profile.felt
    assert profile.sources[wait.file].text.splitlines()[wait.line - 1].strip().startswith("x.mul_(1.0)")
    assert (wait.part, wait.count) == ("queue", len(full))
    assert wait.us == pytest.approx(sum(float(str(event["dur"])) for event in full), abs=1)
    # The kernels it waits for are those of the same line.
    assert (wait.cause_file, wait.cause_line) == (wait.file, wait.line)
    assert at(profile, wait.line).idle_us.get(IdleCause.LAUNCH, 0) < 0.01 * wait.us


def test_without_cuptis_record_the_planted_full_queue_is_inferred(queue_folder: Path, tmp_path: Path) -> None:
    recorded = join(queue_folder).felt[0]
    other = tmp_path / "capture"
    other.mkdir()
    for file in queue_folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    (trace,) = other.glob("*.trace.json")
    document = json.loads(trace.read_text())
    document["traceEvents"] = [
        event for event in document["traceEvents"] if event["name"] != "Command Buffer Full"
    ]
    trace.write_text(json.dumps(document))
    (inferred,) = join(other).felt
    assert (inferred.line, inferred.part) == (recorded.line, "queue")
    assert inferred.us == pytest.approx(recorded.us, rel=0.06)


def test_gaps_before_work_that_was_launched_in_time_are_the_devices(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    # The host waits on line 6; the GPU leaves 10 us between two kernels that it had both had for long.
    capture.trace.kernel(210, 220, 520, 1)
    capture.trace.kernel(310, 530, 590, 2)
    capture.trace.call("cudaStreamSynchronize", 505, 595, 3)
    # Launched within the gap before it: the host is late.
    capture.trace.kernel(610, 620, 700, 4)
    profile = joined(capture, tmp_path)
    assert at(profile, 4).idle_us == {IdleCause.DEVICE: 10}
    assert at(profile, 6).idle_us == {IdleCause.SYNC: 5, IdleCause.HOST: 5}
    totals = profile.totals
    assert totals.gpu_busy_us + totals.gpu_idle_us == totals.wall_us == 1000


def test_loading_kernels_and_the_captures_own_delays_have_causes_of_their_own(
    capture: CaptureBuilder, tmp_path: Path
) -> None:
    capture.trace.call("cudaLaunchKernel", 210, 290, 1)
    overhead(capture, "Lazy Function Loading", 220, 250)
    overhead(capture, "Activity Buffer Request", 260, 280)
    capture.trace.work("kernel", 292, 310, 1)
    assert at(joined(capture, tmp_path), 3).idle_us == {
        IdleCause.WARMUP: 30,
        IdleCause.CAPTURE: 20,
        IdleCause.LAUNCH: 30,
        IdleCause.HOST: 12,
    }


def test_copies_beside_which_no_kernel_runs_are_exposed(capture: CaptureBuilder, tmp_path: Path) -> None:
    trace = capture.trace
    trace.call("cudaMemcpyAsync", 110, 112, 1)
    trace.work("Memcpy HtoD (Pinned -> Device)", 200, 300, 1, size=10)
    trace.call("cudaMemcpyAsync", 210, 212, 2)
    trace.work("Memcpy DtoH (Device -> Pinned)", 260, 320, 2, size=10, stream=8)
    trace.kernel(310, 220, 270, 3, stream=9)
    # Within the device's memory: work, and no transfer.
    trace.call("cudaMemcpyAsync", 410, 412, 4)
    trace.work("Memcpy DtoD (Device -> Device)", 420, 450, 4, size=10)
    profile = joined(capture, tmp_path)
    # Alone: 200 to 220; both: 270 to 300, in halves; the second alone: 300 to 320.
    assert (at(profile, 2).exposed_copy_us, at(profile, 3).exposed_copy_us) == (20 + 15, 15 + 20)
    assert (at(profile, 5).exposed_copy_us, profile.totals.exposed_copy_us) == (0, 70)
