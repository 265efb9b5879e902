"""Reading Kineto's traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from building import AUTOGRAD, MAIN, TRACE_ORIGIN_US, TraceBuilder
from tracefile import parse_trace

from warplint.profile.kineto.reader import read_trace
from warplint.profile.kineto.trace import NONE, TraceError, WorkKind


def test_operators_keep_sequence_and_forward_thread() -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 10, sequence=7)
    builder.op("aten::empty", 2, 3)
    builder.node("MmBackward0", 20, 30, sequence=7)
    operators = builder.parsed().operators
    assert list(operators.sequence) == [7, NONE, 7]
    assert list(operators.forward_thread) == [0, NONE, 1]
    assert list(operators.thread) == [MAIN, MAIN, AUTOGRAD]


def test_times_are_exact_nanoseconds_where_floats_are_coarse() -> None:
    # 5112915954084.424 us is the size of real stamps: one step of a float is a thousandth there.
    first = {"ph": "X", "cat": "cpu_op", "name": "a", "tid": 1, "ts": 5112915954084.424, "dur": 0.001}
    second = {**first, "ts": 5112915954084.425, "dur": 12.345}
    trace = parse_trace(json.dumps({"traceEvents": [first, second]}))
    assert trace.operators.start[1] - trace.operators.start[0] == 1
    assert trace.operators.end[0] - trace.operators.start[0] == 1
    assert trace.operators.end[1] - trace.operators.start[1] == 12345


def test_every_thousandth_of_a_microsecond_is_told_apart() -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "a", "tid": 1, "ts": float(f"5112915954084.{part:03}"), "dur": 1}
        for part in range(1000)
    ]
    trace = parse_trace(json.dumps({"traceEvents": events}))
    assert list(trace.operators.start) == list(range(1000))


def test_device_work_by_category() -> None:
    builder = TraceBuilder()
    builder.work("gemm", 0, 10, 1)
    builder.work("Memcpy HtoD (Pageable -> Device)", 10, 20, 2, size=512)
    builder.work("Memset (Device)", 20, 21, 3, size=4)
    work = builder.parsed().work
    assert list(work.kind) == [WorkKind.KERNEL, WorkKind.COPY, WorkKind.FILL]
    assert list(work.bytes) == [0, 512, 4]
    assert list(work.correlation) == [1, 2, 3]


def test_annotations_repeated_on_the_gpu_are_not_gpu_work() -> None:
    builder = TraceBuilder()
    builder.annotation("Optimizer.step#SGD.step", 0, 10)
    builder.complete("gpu_user_annotation", "Optimizer.step#SGD.step", 7, 2, 12)
    trace = builder.parsed()
    assert len(trace.work) == 0
    assert len(trace.annotations) == 1


def test_events_without_what_they_need_are_counted_and_left_out() -> None:
    builder = TraceBuilder()
    builder.complete("cpu_op", "bad number", MAIN, 0, 1, **{"Sequence number": "x"})
    builder.op("beyond 64 bits", 0, 1, sequence=1 << 70)
    builder.op("endless", 0, float("inf"))
    builder.events.append({"ph": "X", "cat": "cpu_op", "name": "no time"})
    builder.events.append("no object")  # type: ignore[arg-type]
    builder.op("aten::mm", 0, 1)
    trace = builder.parsed()
    assert trace.malformed == 5
    assert len(trace.operators) == len(trace.operators.sequence) == 1
    assert len(trace.work) == 0


def test_work_without_a_correlation_is_kept_with_its_operator() -> None:
    builder = TraceBuilder()
    builder.complete("kernel", "k", 7, 0, 1, device=0, **{"External id": 12})
    builder.complete("Kernel", "old", 7, 1, 2, correlation=0, **{"external id": 13})
    trace = builder.parsed()
    assert list(trace.work.correlation) == [NONE, NONE]
    assert trace.operator_ids == {0: 12, 1: 13}
    # Kernels stand on the row of their GPU.
    assert list(trace.work.device) == [0, 1]


def test_header_before_and_after_the_events() -> None:
    text = (
        '{"baseTimeNanoseconds": 1000, "traceEvents": [\n{"ph": "M"},\n], "deviceProperties": '
        '[{"id": 0, "name": "NVIDIA H200", "x": [1, 2]}]}'
    )
    trace = parse_trace(text)
    assert trace.base_ns == 1000
    assert trace.devices == {0: "NVIDIA H200"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"deviceProperties": [{}], "traceEvents": []}',
        '{"traceEvents": 3}',
        '{"traceEvents": [{"ph": "X", "cat"',
        '{"traceEvents": []',
        "\0\1",
    ],
)
def test_damaged_traces_say_so(text: str) -> None:
    with pytest.raises(TraceError):
        parse_trace(text)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_trace(tmp_path / "trace.json")


def test_control_characters_and_broken_utf8_in_names(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("name", 0, 1)
    raw = builder.text().encode().replace(b'"name": "name"', b'"name": "a\tb\xff"')
    path = tmp_path / "trace.json"
    path.write_bytes(raw)
    trace = read_trace(path)
    assert trace.text(trace.operators.name[0]) == "a\tb\ufffd"


def test_arrows_join_by_id() -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 1, 2)
    builder.arrow(5, (MAIN, 1), (AUTOGRAD, 9))
    trace = builder.parsed()
    assert trace.origin_us == TRACE_ORIGIN_US + 1
    assert trace.arrows.forward == {5: (MAIN, 0)}
    assert trace.arrows.backward == {5: (AUTOGRAD, 8000)}
