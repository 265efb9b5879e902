"""Traces that are not whole, or none: what is said, and what is kept."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tracefile import parse_trace

from warplint.__main__ import main
from warplint.profile.imported.costs import by_rank, import_traces
from warplint.profile.kineto import events as trace_events
from warplint.profile.kineto.reader import read_partial_trace, read_trace
from warplint.profile.kineto.trace import Trace, TraceError
from warplint.profile.model import Profile

EVENT_SYNC = Path(__file__).parents[1] / "data" / "traces" / "hta" / "event_sync.json.gz"


def op(name: str = "aten::mm", **changes: Any) -> dict[str, Any]:
    event = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": {}}
    return event | changes


def document(*events: Any, **header: Any) -> str:
    return json.dumps({**header, "traceEvents": list(events)}, indent=1)


def imported(path: Path) -> Profile:
    return import_traces(by_rank([path]), path.parent)


def events_before(whole: bytes, begin: int) -> int:
    """How many events stand whole before a byte."""
    return len(json.loads(whole[:begin].rstrip(b", \n") + b"]}")["traceEvents"])


NO_TRACES = {
    "empty": (b"", "it is empty"),
    "blank": (b" \n\n", "it is not JSON: it begins with ''"),
    "text": (b"step,loss\n1,2\n", "it is not JSON: it begins with 'step,loss"),
    "binary": (b"\x7fELF\0\0\0", "it is binary, not JSON"),
    "utf16": ("[]".encode("utf-16"), "it is text in UTF-16"),
    "zip": (b"PK\x03\x04rest", "it is a zip archive: unpack it first"),
    "tar": (b"dir/trace.json".ljust(257, b"\0") + b"ustar\x0000", "it is a tar archive: unpack it first"),
    "notebook": (b'{"cells": [], "nbformat": 4}', "it has no traceEvents"),
    "no list": (b'{"traceEvents": 3}', "it has no traceEvents"),
    "no events": (b'{"traceEvents": []}', "it holds no events"),
    "browser": (
        document({"ph": "X", "cat": "v8", "name": "V8.Execute", "ts": 1, "dur": 1}).encode(),
        "none of its 1 events is torch.profiler's: their categories are v8",
    ),
    "torch before 1.8": (
        json.dumps([{"name": "mm", "ph": "X", "ts": 1, "dur": 1, "tid": 0, "pid": "CPU functions"}]).encode(),
        "none of its 1 events is torch.profiler's: they have no categories",
    ),
    "only malformed": (
        document(op(ts="soon"), op(dur=None)).encode(),
        "none of its events can be read, from event 1 in line 3 at byte 22: its ts is no number: 'soon'",
    ),
    "cut in the first event": (
        document(op()).encode()[:60],
        "nothing in it can be used: it ends in the middle of an event, event 1 in line 3 at byte 22",
    ),
    "not gzip inside": (b"\x1f\x8bnothing", "it is no trace: its gzip data is damaged"),
}


@pytest.mark.parametrize("what", NO_TRACES)
def test_what_is_no_trace_is_refused_and_leaves_nothing(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content, reason = NO_TRACES[what]
    (tmp_path / "trace.json").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    assert main(["import", "trace.json"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"warplint: error: trace.json: {reason}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.json"]


@pytest.mark.parametrize(
    ("name", "reason"), [("gone.json", "No such file"), (".", "is a folder: name the traces")]
)
def test_what_is_no_file_is_refused(
    name: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import", name]) == 2
    assert reason in capsys.readouterr().err


def test_a_wrong_file_among_several_is_refused_before_any_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["import", str(EVENT_SYNC), "notes.json"]) == 2
    assert "notes.json: it has no traceEvents" in capsys.readouterr().err
    assert not (tmp_path / ".warplint").exists()


def test_a_trace_that_is_cut_off_is_imported_up_to_there(tmp_path: Path) -> None:
    whole = gzip.decompress(EVENT_SYNC.read_bytes())
    # In the middle of the event that follows the third kernel.
    kernels = [position for position in range(len(whole)) if whole.startswith(b'"cat": "kernel"', position)]
    path = tmp_path / "trace.json"
    path.write_bytes(whole[: kernels[3]])
    profile = imported(path)
    assert profile.totals.kernels == 3
    begin = whole.rfind(b"{", 0, kernels[3])
    line = whole.count(b"\n", 0, begin) + 1
    said = next(note for note in profile.notes if "not whole" in note)
    assert f"it ends in the middle of an event, event {events_before(whole, begin) + 1:,}" in said
    assert f"in line {line} at byte {begin:,}" in said
    with pytest.raises(TraceError, match="cut off"):
        read_trace(path)


@pytest.mark.parametrize("damaged", [False, True])
def test_gzip_data_that_ends_early_is_imported_up_to_there(damaged: bool, tmp_path: Path) -> None:
    text = document(
        *(
            op(ts=10 * number, args={"External id": number * 2654435761 % 4294967291})
            for number in range(3000)
        )
    )
    packed = bytearray(gzip.compress(text.encode()))
    if damaged:
        packed[-5000] ^= 0xFF
    else:
        del packed[-5000:]
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed)
    trace = read_partial_trace(path)
    assert trace.cut is not None
    assert "gzip data is" in trace.cut.reason or damaged
    assert 1000 < len(trace.operators) < 3000
    assert list(trace.operators.external) == [
        number * 2654435761 % 4294967291 for number in range(len(trace.operators))
    ]


def test_gzip_members_and_padding(tmp_path: Path) -> None:
    text = document(op(), op("aten::add", ts=20)).encode()
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(text[:50]) + gzip.compress(text[50:]) + b"\0" * 512)
    assert len(read_trace(path).operators) == 2


ODD = {
    "numbers as text": document(op(ts="10.5", dur="4", tid="77")),
    "infinities that C++ printed": document(op()).replace(
        '"args": {}', '"args": {"memory bandwidth (GB/s)": inf}'
    ),
    "nan": document(op()).replace('"args": {}', '"args": {"x": [nan, -inf, N/A]}'),
    "control characters": document(op("a b")).replace("a b", "a\tb"),
    "a Windows path": document(op("x")).replace('"x"', r'"C:\Users\new\train.py(3): f"'),
    "a comma after the last": document(op()).replace("\n ]", ",\n ]"),
    "a byte order mark": "\ufeff" + document(op()),
    "a bare list": json.dumps([op()]),
    "brackets in a name": document(op('"}, {" [{]')),
    "objects in arguments": document(op(args={"list": [{"a": 1}, {"b": [{}, {"c": "}, {"}]}]})),
    "strange others": document(op(), 3, None, "x", [1, {"y": 2}], {"ph": 4}, {}),
    "a name of another type": document(op(), op(None), {"ph": "X", "cat": "cpu_op"}),
}


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("fast", [True, False])
def test_oddities_cost_no_good_event(what: str, fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fast:
        monkeypatch.setattr(trace_events, "decoders", lambda: (trace_events.plain_decode,))
    trace = parse_trace(ODD[what])
    assert len(trace.operators) == 1
    assert trace.operators.end[0] - trace.operators.start[0] in (4000, 5000)


def test_both_decoders_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read_trace(EVENT_SYNC)
    monkeypatch.setattr(trace_events, "decoders", lambda: (trace_events.plain_decode,))
    slow = read_trace(EVENT_SYNC)
    assert columns(fast) == columns(slow)
    assert fast.names.texts == slow.names.texts


def test_traces_are_read_without_msgspec_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = read_trace(EVENT_SYNC)
    monkeypatch.delitem(sys.modules, "warplint.profile.kineto.fast", raising=False)
    monkeypatch.delattr("warplint.profile.kineto.fast", raising=False)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    assert trace_events.decoders() == (trace_events.plain_decode,)
    assert columns(read_trace(EVENT_SYNC)) == columns(with_it)


def columns(trace: Trace) -> list[Any]:
    parts = (trace.operators, trace.calls, trace.work, trace.annotations, trace.frames)
    return [[list(column) for column in part.all_columns] for part in parts]


def test_an_event_that_does_not_end_is_no_reason_to_read_on_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_events, "LONGEST_EVENT", 1 << 20)
    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents": [{"ph": "X", "name": "' + "x" * (3 << 20), encoding="utf-8")
    with pytest.raises(TraceError, match="event 1, at byte 17, does not end"):
        read_partial_trace(path)


def test_times_of_another_clock_are_left_out(tmp_path: Path) -> None:
    now = 1_700_000_000_000_000
    work = {"pid": 0, "tid": 7, "args": {"device": 0, "correlation": 0, "External id": 4}}
    events = [
        op("lost", ts=0),
        op("aten::mm", ts=now, args={"External id": 4}),
        {"ph": "X", "cat": "kernel", "name": "early", "ts": 5, "dur": 1, **work},
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": now + 2, "dur": 6, **work},
        op("endless", ts=now + 1, dur=9e14),
    ]
    path = tmp_path / "trace.json"
    path.write_text(document(*events), encoding="utf-8")
    profile = imported(path)
    assert (profile.totals.wall_us, profile.totals.kernels, profile.totals.kernel_us) == (8, 1, 6)
    assert [cost.file for cost in profile.lines] == ["aten::mm"]
    assert any(note.startswith("3 records are left out") for note in profile.notes)


def test_a_damaged_header_costs_only_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(document(op(), deviceProperties=[{"name": "no id"}]), encoding="utf-8")
    profile = imported(path)
    assert profile.totals.wall_us == 5
    assert any("its header is damaged" in note for note in profile.notes)
    with pytest.raises(TraceError, match="its header is damaged"):
        read_trace(path)


def test_what_a_trace_lacks_is_not_said_of_the_run_when_it_is_cut_off(tmp_path: Path) -> None:
    whole = document(
        op(dur=9),
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 6, "args": {}},
        op("train.py(3): step", cat="python_function"),
        deviceProperties=[{"id": 0, "name": "H100"}],
    )
    path = tmp_path / "trace.json"
    path.write_text(whole[: whole.index('"kernel"')], encoding="utf-8")
    before_kernel = imported(path).notes
    assert any(
        note.endswith("shown is what the 1 events before tell, among which is no work of a GPU")
        for note in before_kernel
    )
    assert any(note.startswith("as far as it goes, the trace has no Python stack") for note in before_kernel)
    path.write_text(whole[: whole.index('"python_function"')], encoding="utf-8")
    before_stack = imported(path).notes
    assert any(note.endswith("shown is what the 2 events before tell") for note in before_stack)
    path.write_text(whole, encoding="utf-8")
    assert not any("as far as" in note or "not whole" in note for note in imported(path).notes)


def test_a_trace_that_is_cut_off_after_its_events_keeps_what_stands_before_them(tmp_path: Path) -> None:
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 6, "args": {}}
    whole = document(op(), kernel, deviceProperties=[{"id": 0, "name": "H100"}])
    path = tmp_path / "trace.json"
    text = whole.removesuffix("\n}") + ',\n "traceName": "a'
    path.write_text(text, encoding="utf-8")
    profile = imported(path)
    assert (profile.totals.device, profile.totals.kernels) == ("H100", 1)
    where = f"at byte {len(text):,}, after its list of events"
    assert f"the trace is not whole: it ends {where}; all events are there" in profile.notes
    begin = text.rindex("]")
    path.write_text(f"{text}}}", encoding="utf-8")
    assert any(
        note.startswith(f"what follows its list of events, at byte {begin:,}, is damaged: ")
        for note in imported(path).notes
    )
    with pytest.raises(TraceError, match="all events are there"):
        read_trace(path)
