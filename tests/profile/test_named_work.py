"""Layers, groups of kernels and tiny copies of small captures whose figures are worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import AUTOGRAD, MAIN, CaptureBuilder, TraceBuilder

from warplint.capture.layout import RawWriter, Record, raw_name
from warplint.profile.imported.costs import by_rank, import_traces
from warplint.profile.join import join
from warplint.profile.names.groups import JITTER, LONG_US, MANY_PER_SECOND, SHORT_US, behaviour, overlapping
from warplint.profile.names.tiny_copies import MANY_PER_STEP, TINY_BYTES, direction_and_memory
from warplint.profile.sections.named_costs import KernelGroup, LayerCost

SOURCE = "\n".join(f"line{number}()" for number in range(1, 9)) + "\n"


def layer(number: int, path: str, kind: str = "Linear", **known: Any) -> dict[str, Any]:
    return {
        "id": number,
        "root": 1,
        "path": path,
        "class": kind,
        "shape": "",
        "bias": False,
        "weights": "",
        "file": "/app/model.py",
        "line": 7,
        "input": "",
        "dtype": "",
        "varies": False,
        **known,
    }


def builder() -> CaptureBuilder:
    made = CaptureBuilder(SOURCE, window=(0, 1000), steps=[0, 300, 600, 900])
    made.lines[MAIN] = [(0, 1)]
    return made


def by_path(folder: Path) -> dict[str, LayerCost]:
    return {each.path: each for each in join(folder).layers}


def test_each_launch_counts_for_the_innermost_layer_on_its_thread(tmp_path: Path) -> None:
    made = builder()
    made.layers = [
        layer(2, "Net", "Net"),
        layer(3, "linear1", shape="1024x2048", bias=True, weights="bf16", input="64x1024", dtype="bf16"),
    ]
    # Net from 10 to 100, its linear1 from 20 to 50.
    made.layer_calls[MAIN] = [(10, 2), (20, 3), (50, 0), (100, 0)]
    made.trace.kernel(5, 6, 16, 1)
    made.trace.kernel(30, 40, 60, 2)
    made.trace.kernel(70, 80, 85, 3)
    made.trace.kernel(75, 85, 88, 4)
    # Another thread, which calls no layer, launches at the same time.
    made.trace.kernel(31, 90, 97, 5, thread=300)
    found = by_path(made.write(tmp_path / "capture"))
    assert set(found) == {"Net", "linear1"}
    linear, net = found["linear1"], found["Net"]
    assert linear.description == "Linear[1024x2048] bias batch=64 bf16"
    assert (linear.file, linear.line, linear.dtype, linear.input) == ("model.py", 7, "bf16", "64x1024")
    assert (linear.calls, linear.launches, linear.gpu_forward_us, linear.cpu_us) == (1, 1, 20, 30)
    assert (net.calls, net.launches, net.gpu_forward_us, net.cpu_us) == (1, 2, 8, 60)


def test_backward_kernels_count_for_the_layer_of_their_forward_operator(tmp_path: Path) -> None:
    made = builder()
    made.layers = [layer(2, "a"), layer(3, "b")]
    made.layer_calls[MAIN] = [(10, 2), (30, 0), (40, 3), (60, 0)]
    made.trace.op("aten::mm", 12, 20, sequence=1)
    made.trace.op("aten::mm", 42, 50, sequence=2)
    made.trace.node("MmBackward0", 110, 120, sequence=2)
    made.trace.node("MmBackward0", 130, 140, sequence=1)
    made.trace.kernel(112, 115, 125, 1, thread=AUTOGRAD)
    made.trace.kernel(132, 135, 138, 2, thread=AUTOGRAD)
    found = by_path(made.write(tmp_path / "capture"))
    assert (found["a"].gpu_backward_us, found["b"].gpu_backward_us) == (3, 10)
    assert (found["a"].gpu_forward_us, found["b"].gpu_forward_us) == (0, 0)


def test_a_layer_computed_again_in_backward_has_its_recomputation(tmp_path: Path) -> None:
    made = builder()
    made.layers = [layer(2, "a"), layer(3, "b")]
    made.layer_calls[MAIN] = [(10, 2), (30, 0)]
    made.layer_calls[AUTOGRAD] = [(112, 3), (118, 0)]
    made.trace.op("aten::mm", 12, 20, sequence=1)
    made.trace.node("MmBackward0", 110, 130, sequence=1)
    made.trace.kernel(113, 115, 122, 1, thread=AUTOGRAD)
    made.trace.kernel(120, 125, 130, 2, thread=AUTOGRAD)
    found = by_path(made.write(tmp_path / "capture"))
    assert (found["a"].gpu_backward_us, found["b"].gpu_backward_us) == (5, 7)


def test_paths_that_two_trees_share_have_the_tree_before_them(tmp_path: Path) -> None:
    made = builder()
    made.layers = [
        layer(2, "Generator", "Generator"),
        layer(3, "main.0"),
        layer(4, "Discriminator", "Discriminator", root=2),
        layer(5, "main.0", root=2),
        layer(6, "head", root=2),
    ]
    made.layer_calls[MAIN] = [
        (10, 2),
        (12, 3),
        (14, 0),
        (16, 0),
        (20, 4),
        (22, 5),
        (24, 0),
        (25, 6),
        (26, 0),
        (28, 0),
    ]
    made.trace.kernel(5, 6, 16, 1)
    expected = {"Generator", "Generator.main.0", "Discriminator", "Discriminator.main.0", "head"}
    assert set(by_path(made.write(tmp_path / "capture"))) == expected


def test_windows_know_a_layer_by_what_it_is(tmp_path: Path) -> None:
    """Each window numbers trees and layers as it meets them."""
    folder = tmp_path / "capture"
    made = builder()
    made.write(folder)
    raw = folder / raw_name(0, 1)
    raw.unlink()
    writer = RawWriter(raw)
    made.write_head(writer)
    numbers = {1: ((2, 1), (3, 2)), 2: ((3, 2), (2, 1))}
    for window, ((net, net_root), (loss, loss_root)) in numbers.items():
        made.layers = [
            layer(net, "Net", "Net", root=net_root, input=f"{window}x8"),
            layer(loss, "Loss", "Loss", root=loss_root, input="4x8"),
        ]
        made.window = (1000 * window, 1000 * window + 1000)
        made.steps = [1000 * window + at for at in (0, 300, 600, 900)]
        start = 1000 * window
        made.layer_calls[MAIN] = [(start + 10, net), (start + 30, 0), (start + 40, loss), (start + 45, 0)]
        made.lines[MAIN] = [(start, 1)]
        made.write_window(writer, folder, window)
    writer.write_json(Record.END, {"t_ns": 0, "reason": "exit"})
    writer.close()
    found = by_path(folder)
    assert set(found) == {"Net", "Loss"}
    assert (found["Net"].calls, found["Net"].cpu_us, found["Loss"].cpu_us) == (2, 40, 10)
    assert found["Net"].description == "Net batch=1 varies"
    assert found["Loss"].description == "Loss batch=4"


def test_two_models_of_one_class_are_numbered(tmp_path: Path) -> None:
    made = builder()
    made.layers = [
        layer(2, "Net", "Net"),
        layer(3, "Net", "Net", root=2),
        layer(4, "a"),
        layer(5, "a", root=2),
    ]
    made.layer_calls[MAIN] = [(10, 2), (12, 4), (14, 0), (16, 0), (20, 3), (22, 5), (24, 0), (28, 0)]
    assert set(by_path(made.write(tmp_path / "capture"))) == {"Net", "Net.a", "Net#2", "Net#2.a"}


def test_layers_that_capture_did_not_name_are_others(tmp_path: Path) -> None:
    made = builder()
    made.layers = [layer(2, "a")]
    made.layer_calls[MAIN] = [(10, 2), (20, 1), (40, 0), (50, 0)]
    made.trace.kernel(30, 31, 36, 1)
    found = by_path(made.write(tmp_path / "capture"))
    assert (found["others"].calls, found["others"].gpu_forward_us, found["a"].gpu_forward_us) == (1, 5, 0)


def test_without_a_gpu_layers_have_the_hosts_time(tmp_path: Path) -> None:
    made = builder()
    made.layers = [layer(2, "a", varies=True, input="4x8", weights="fp32", dtype="bf16")]
    # The second call begins before the last step ends, and is cut there.
    made.layer_calls[MAIN] = [(10, 2), (50, 0), (880, 2), (950, 0)]
    (found,) = join(made.write(tmp_path / "capture")).layers
    assert found.description == "Linear batch=4 varies bf16 (weights fp32)"
    assert (found.calls, found.cpu_us, found.launches) == (2, 60, 0)


def groups(made: CaptureBuilder, folder: Path) -> dict[str, KernelGroup]:
    return {each.signature: each for each in join(made.write(folder)).kernel_groups}


def test_kernels_group_by_signature_and_type(tmp_path: Path) -> None:
    made = builder()
    names = ["volta_sgemm_32x32_tn", "volta_sgemm_64x64_nn", "volta_hgemm_64x64_nn"]
    for index, (name, length) in enumerate(zip(names, (10, 20, 5), strict=True)):
        start = 100 + 50 * index
        made.trace.kernel(start, start + 2, start + 2 + length, index + 1, name=name)
    found = groups(made, tmp_path / "capture")
    single = found["volta_sgemm…"]
    assert (single.dtype, single.names, single.count, single.us, single.mean_us) == ("fp32", 2, 2, 30, 15)
    assert (single.p10_us, single.p90_us, single.example) == (10, 20, "volta_sgemm_64x64_nn")
    # Two in three steps of 300 µs.
    assert single.launches_per_second == pytest.approx(2 / 900e-6)
    assert (found["volta_hgemm…"].dtype, found["volta_hgemm…"].jitter) == ("fp16", None)


def test_the_same_work_in_changing_time_is_jitter(tmp_path: Path) -> None:
    made = builder()
    # In each step two runs: one of 10 µs always, one of 100, 40 and 10.
    for step, length in enumerate((100, 40, 10)):
        start = 300 * step
        made.trace.kernel(start + 10, start + 20, start + 30, 2 * step + 1, name="k")
        made.trace.kernel(start + 40, start + 50, start + 50 + length, 2 * step + 2, name="k")
    found = groups(made, tmp_path / "capture")["k"]
    # Mean of all 30; variances 0 and 1400: root of 700 over 30.
    assert found.jitter == pytest.approx(700**0.5 / 30)
    assert found.behaviour == "jittery"
    assert found.contended_us is None


def test_different_work_in_one_step_is_no_jitter(tmp_path: Path) -> None:
    made = builder()
    for step in range(3):
        start = 300 * step
        made.trace.kernel(start + 10, start + 20, start + 30, 2 * step + 1, name="k")
        made.trace.kernel(start + 40, start + 50, start + 150, 2 * step + 2, name="k")
    found = groups(made, tmp_path / "capture")["k"]
    assert (found.jitter, found.behaviour) == (0, "steady")


def test_steps_that_run_a_kernel_differently_often_are_not_compared(tmp_path: Path) -> None:
    made = builder()
    for index, start in enumerate((10, 310, 610, 650)):
        made.trace.kernel(start, start + 5, start + 15 + 10 * index, index + 1, name="k")
    assert groups(made, tmp_path / "capture")["k"].jitter is None


def test_runs_beside_other_work_are_compared_with_those_alone(tmp_path: Path) -> None:
    made = builder()
    for step, length in enumerate((20, 20, 50)):
        start = 300 * step
        made.trace.kernel(start + 10, start + 20, start + 20 + length, step + 1, name="k")
    made.trace.kernel(605, 640, 660, 9, name="other", stream=8)
    found = groups(made, tmp_path / "capture")
    assert found["k"].contended_us == 30
    assert found["other"].contended_us is None


def test_work_overlaps_on_its_own_gpu_alone() -> None:
    #         a        b        c (in a)  d (other)  e (touches a's end)
    starts = [0, 200, 20, 20, 100]
    ends = [100, 300, 30, 30, 150]
    assert list(overlapping(starts, ends, [0, 0, 0, 1, 0])) == [1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("mean_us", "per_second", "jitter", "expected"),
    [
        (SHORT_US - 0.1, MANY_PER_SECOND, None, "many short"),
        (SHORT_US, MANY_PER_SECOND, None, "steady"),
        (SHORT_US - 0.1, MANY_PER_SECOND - 1, None, "steady"),
        (LONG_US, MANY_PER_SECOND - 1, 0.0, "few long"),
        (LONG_US, MANY_PER_SECOND - 1, JITTER, "jittery"),
        (2.0, MANY_PER_SECOND, JITTER, "many short"),
    ],
)
def test_behaviours_follow_their_table(
    mean_us: float, per_second: float, jitter: float | None, expected: str
) -> None:
    assert behaviour(mean_us, per_second, jitter) == expected


PAGEABLE, PINNED, BACK = (
    "Memcpy HtoD (Pageable -> Device)",
    "Memcpy HtoD (Pinned -> Device)",
    "Memcpy DtoH (Device -> Pageable)",
)


def test_many_tiny_copies_of_a_line_are_a_cluster(tmp_path: Path) -> None:
    made = builder()
    made.lines[MAIN] = [(0, 1), (100, 2), (200, 3), (250, 4)]
    correlation = 0

    def copy(time: float, name: str, size: int, waits: bool = False) -> None:
        nonlocal correlation
        correlation += 1
        made.trace.call("cudaMemcpyAsync", time, time + 1, correlation)
        made.trace.work(name, time + 1, time + 1.5, correlation, size=size)
        if waits:
            made.trace.call("cudaStreamSynchronize", time + 1, time + 3, 1000 + correlation)

    for index in range(3 * MANY_PER_STEP):
        copy(100 + 4 * index, PAGEABLE, 8, waits=True)
    # One too few, at another line; pinned ones and large ones are clusters of their own, or none.
    for index in range(3 * MANY_PER_STEP - 1):
        copy(200 + 2 * index, PAGEABLE, 8)
    for index in range(3 * MANY_PER_STEP):
        copy(250 + 4 * index, PINNED, TINY_BYTES - 1)
        copy(252 + 4 * index, PINNED, TINY_BYTES)
    first, second = join(made.write(tmp_path / "capture")).tiny_copies
    assert (first.file, first.line, first.direction, first.memory) == ("train.py", 2, "HtoD", "pageable")
    assert (first.count, first.count_per_step, first.bytes) == (12, MANY_PER_STEP, 96)
    assert (first.us, first.wait_us) == (6, 24)
    assert (second.line, second.memory, second.count, second.wait_us) == (4, "pinned", 12, 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (PAGEABLE, ("HtoD", "pageable")),
        (PINNED, ("HtoD", "pinned")),
        (BACK, ("DtoH", "pageable")),
        ("Memcpy PtoP (Device -> Device)", ("PtoP", "")),
        ("Memcpy HtoD", ("HtoD", "")),
        ("CopyHostToDevice", ("", "")),
    ],
)
def test_a_copys_name_tells_direction_and_memory(name: str, expected: tuple[str, str]) -> None:
    assert direction_and_memory(name) == expected


def test_steps_of_an_imported_trace_are_compared_too(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for step, length in enumerate((100, 40, 10)):
        start = 300 * step
        trace.annotation(f"ProfilerStep#{step}", start, start + 300)
        trace.kernel(start + 40, start + 50, start + 50 + length, step + 1, name="k")
    path = tmp_path / "trace.json"
    path.write_text(trace.text(), encoding="utf-8")
    (group,) = import_traces(by_rank([path]), tmp_path).kernel_groups
    # Mean 50, variance 1400.
    assert group.jitter == pytest.approx(1400**0.5 / 50)
    assert group.behaviour == "jittery"
