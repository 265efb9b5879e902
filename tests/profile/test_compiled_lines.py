"""Kernels of compiled graphs on the lines they come from, in captures built by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import AUTOGRAD, MAIN, ROOT, CaptureBuilder

from warplint.capture.layout import Record
from warplint.profile.join import join
from warplint.profile.model import LineCost, Profile
from warplint.profile.sections.fused import FusedShare

SOURCE = "\n".join(
    [
        "@torch.compile",
        "def layer(x):",
        "    a = x @ w",
        "    b = a.sin()",
        "    c = (",
        "        b",
        "        + a.cos()",
        "    )",
        "    return c @ v",
        "for x in data:",
        "    y = layer(x)",
        "    y.sum().backward()",
    ]
)
CALL, BACKWARD = 11, 12
FORWARD_KEY, BACKWARD_KEY = "fforward", "fbackward"
FUSED = "triton_poi_fused_add_cos_sin_0"


def graph(key: str | None, *kernels: tuple[str, list[int]]) -> tuple[Record, dict[str, Any]]:
    launches = [[name, [[1, line] for line in lines]] for name, lines in kernels]
    return Record.COMPILED_GRAPH, {"graph": key, "kernels": launches}


FORWARD = graph(
    FORWARD_KEY, ("extern_kernels.mm", [3]), (FUSED, [4, 6, 7]), ("torch.ops.aten.mm.default", [9])
)
"""The statement over lines 5 to 8 is met at two of its lines."""


@pytest.fixture
def builder() -> CaptureBuilder:
    """One step of 1000 us; the main thread stands on the call, then on the backward."""
    capture = CaptureBuilder(SOURCE, window=(0, 1000), steps=[1, 999], compiled=[FORWARD])
    capture.lines[MAIN] = [(0, CALL), (500, BACKWARD)]
    return capture


def joined(builder: CaptureBuilder, folder: Path) -> Profile:
    return join(builder.write(folder / "capture"))


def at(profile: Profile, line: int) -> LineCost:
    return next(cost for cost in profile.lines if cost.line == line)


def call_of(builder: CaptureBuilder, key: str, start: float, end: float, thread: int = MAIN) -> None:
    """As torch up to 2.12 notes it; later ones write an annotation."""
    builder.trace.op(f"## Call CompiledFxGraph {key} ##", start, end, thread)


def product(builder: CaptureBuilder, at_us: float, correlation: int, *lengths: float) -> None:
    """``aten::mm``, which may start several kernels."""
    builder.trace.op("aten::mm", at_us, at_us + 5 * len(lengths))
    for index, length in enumerate(lengths):
        launch = at_us + 1 + 3 * index
        builder.trace.kernel(launch, launch + 20 * (index + 1), launch + 20 * (index + 1) + length,
                             correlation + index, "sm90_gemm")  # fmt: skip


def test_launches_of_a_graph_go_to_its_lines_in_order(builder: CaptureBuilder, tmp_path: Path) -> None:
    call_of(builder, FORWARD_KEY, 90, 400)
    product(builder, 100, 1, 10)
    builder.trace.kernel(200, 210, 241, 3, FUSED)
    product(builder, 300, 4, 7, 5)
    profile = joined(builder, tmp_path)
    assert at(profile, 3).gpu_us == 10
    assert at(profile, 9).gpu_us == 12
    assert (at(profile, 4).gpu_us, at(profile, 5).gpu_us) == (15.5, 15.5)
    assert {cost.line: cost.launches for cost in profile.lines if cost.launches} == {3: 1, 4: 1, 9: 2}
    assert all(cost.gpu_us == 0 for cost in profile.lines if cost.line == CALL)


def test_a_fused_kernel_is_shared_by_statements(builder: CaptureBuilder, tmp_path: Path) -> None:
    call_of(builder, FORWARD_KEY, 90, 400)
    product(builder, 100, 1, 10)
    builder.trace.kernel(200, 210, 241, 3, FUSED)
    product(builder, 300, 4, 7)
    profile = joined(builder, tmp_path)
    assert profile.fused == [
        FusedShare(FUSED, "train.py", 4, ("train.py:5",), 15.5, 1),
        FusedShare(FUSED, "train.py", 5, ("train.py:4",), 15.5, 1),
    ]
    assert [(cost.line, cost.fused_us) for cost in profile.lines if cost.fused_us] == [(4, 15.5), (5, 15.5)]
    assert at(profile, 4).busy_us == at(profile, 5).busy_us == 15.5


def test_the_parts_of_a_fused_kernel_sum_to_it(builder: CaptureBuilder, tmp_path: Path) -> None:
    builder.compiled = [graph(FORWARD_KEY, (FUSED, [3, 4, 5]))]
    call_of(builder, FORWARD_KEY, 90, 400)
    builder.trace.kernel(200, 210, 220.001, 3, FUSED)
    profile = joined(builder, tmp_path)
    assert sorted(cost.gpu_us for cost in profile.lines if cost.gpu_us) == [3.333, 3.334, 3.334]
    assert sum(cost.busy_us for cost in profile.lines) == pytest.approx(profile.totals.gpu_busy_us)


def test_a_backward_graph_goes_to_forward_lines(builder: CaptureBuilder, tmp_path: Path) -> None:
    builder.compiled.append(graph(BACKWARD_KEY, ("triton_poi_fused_mul_0", [5, 4])))
    call_of(builder, FORWARD_KEY, 90, 400)
    product(builder, 100, 1, 10)
    builder.trace.node("CompiledFunctionBackward", 600, 700)
    builder.trace.annotation(f"## Call CompiledFxGraph {BACKWARD_KEY} ##", 610, 690, AUTOGRAD)
    builder.trace.kernel(620, 630, 650, 8, "triton_poi_fused_mul_0", AUTOGRAD)
    profile = joined(builder, tmp_path)
    assert (at(profile, 4).gpu_backward_us, at(profile, 5).gpu_backward_us) == (10, 10)
    assert at(profile, 5).launches == 1, "the line that comes first in the kernel"


def test_the_same_kernel_of_two_graphs_is_told_apart(builder: CaptureBuilder, tmp_path: Path) -> None:
    builder.compiled = [graph("fone", (FUSED, [3])), graph("ftwo", (FUSED, [9]))]
    call_of(builder, "ftwo", 100, 150)
    builder.trace.kernel(110, 120, 130, 1, FUSED)
    call_of(builder, "fone", 200, 250)
    builder.trace.kernel(210, 220, 225, 2, FUSED)
    profile = joined(builder, tmp_path)
    assert (at(profile, 9).gpu_us, at(profile, 3).gpu_us) == (10, 5)


def test_the_kernels_of_a_replayed_graph_are_told_by_those_with_names(
    builder: CaptureBuilder, tmp_path: Path
) -> None:
    """A call of a library may be several kernels, which lie between two of Inductor's."""
    call_of(builder, FORWARD_KEY, 90, 400)
    builder.trace.op("aten::_foreach_copy_", 95, 99)
    builder.trace.kernel(96, 100, 103, 1, "multi_tensor_apply_kernel")
    builder.trace.call("cudaGraphLaunch", 110, 120, 2)
    for name, start, end in (
        ("sm90_gemm", 130, 140), ("splitKreduce", 140, 141), (FUSED, 150, 160), ("sm90_gemm", 160, 180)
    ):  # fmt: skip
        builder.trace.work(name, start, end, 2)
    profile = joined(builder, tmp_path)
    assert (at(profile, 3).gpu_us, at(profile, 4).gpu_us, at(profile, 5).gpu_us) == (11, 5, 5)
    assert at(profile, 9).gpu_us == 20
    assert at(profile, CALL).gpu_us == 3, "copying what goes into the graph is none of it"
    assert {cost.line: cost.launches for cost in profile.lines if cost.launches} == {CALL: 2}
    assert profile.totals.kernels == 5


def test_a_launch_that_was_not_generated_stays_on_the_call(builder: CaptureBuilder, tmp_path: Path) -> None:
    builder.compiled = [graph(FORWARD_KEY, (FUSED, [4]))]
    call_of(builder, FORWARD_KEY, 90, 400)
    builder.trace.kernel(100, 110, 120, 1, FUSED)
    builder.trace.kernel(200, 210, 230, 2, "something_else")
    profile = joined(builder, tmp_path)
    assert (at(profile, 4).gpu_us, at(profile, CALL).gpu_us) == (10, 20)
    assert any(note.startswith("1 kernels or copies of compiled graphs") for note in profile.notes)


def test_without_the_graphs_record_kernels_stay_on_the_call(builder: CaptureBuilder, tmp_path: Path) -> None:
    builder.compiled = []
    call_of(builder, FORWARD_KEY, 90, 400)
    builder.trace.kernel(200, 210, 230, 3, FUSED)
    profile = joined(builder, tmp_path)
    assert at(profile, CALL).gpu_us == 20
    assert profile.fused == []


def test_graph_breaks_and_recompilations_are_listed_by_place(builder: CaptureBuilder, tmp_path: Path) -> None:
    broken = {"file": f"{ROOT}/train.py", "line": 9, "reason": "print", "count": 2}
    again = {"file": "/lib/site.py", "line": 1, "reason": "x: size mismatch", "count": 1}
    builder.compiled.append(
        (Record.COMPILATION, {"graph_breaks": [broken], "recompilations": [], "dropped": 0})
    )
    builder.compiled.append(
        (Record.COMPILATION, {"graph_breaks": [broken], "recompilations": [again], "dropped": 0})
    )
    profile = joined(builder, tmp_path)
    assert [(each.file, each.line, each.reason, each.count) for each in profile.graph_breaks] == [
        ("train.py", 9, "print", 2)
    ]
    assert [(each.file, each.line) for each in profile.recompilations] == [("/lib/site.py", 1)]
