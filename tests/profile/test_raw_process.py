"""Reading a process's raw file."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warplint.capture.layout import LayoutError, RawWriter, Record
from warplint.profile.raw.process import RawProcess, read_process


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Callable[[RawWriter], None]], RawProcess]:
    def write(fill: Callable[[RawWriter], None]) -> RawProcess:
        path = tmp_path / "rank0.1.wlraw"
        writer = RawWriter(path)
        fill(writer)
        writer.close()
        return read_process(path)

    return write


Written = Callable[[Callable[[RawWriter], None]], RawProcess]


def test_code_numbers_used_again_in_a_later_window_name_the_later_code(written: Written) -> None:
    def fill(writer: RawWriter) -> None:
        for window, source in ((0, 1), (1, 2)):
            writer.write_json(Record.WINDOW_OPEN, {"window": window, "t_ns": window * 100})
            writer.write_json(Record.CODE, {"id": 9, "file": source, "name": "f", "first_line": 1})
            writer.write_lines(5, array("q", [window * 100 + 1, 9, 3]))

    first, second = written(fill).windows
    assert first.lines == {5: array("q", [1, 1, 3])}
    assert second.lines == {5: array("q", [101, 2, 3])}


def test_lines_before_the_first_window_are_that_windows(written: Written) -> None:
    def fill(writer: RawWriter) -> None:
        writer.write_json(Record.CODE, {"id": 9, "file": 1, "name": "f", "first_line": 1})
        writer.write_lines(5, array("q", [1, 9, 3]))
        writer.write_json(Record.WINDOW_OPEN, {"window": 0, "t_ns": 2})
        writer.write_lines(5, array("q", [3, 0, 0]))

    assert written(fill).windows[0].lines == {5: array("q", [1, 1, 3, 3, 0, 0])}


def test_code_without_a_record_is_no_user_frame(written: Written) -> None:
    def fill(writer: RawWriter) -> None:
        writer.write_json(Record.WINDOW_OPEN, {"window": 0, "t_ns": 2})
        writer.write_lines(5, array("q", [3, 1234, 7]))

    assert written(fill).windows[0].lines == {5: array("q", [3, 0, 7])}


def test_a_window_without_its_close_stays_open(written: Written) -> None:
    def fill(writer: RawWriter) -> None:
        writer.write_json(Record.WINDOW_OPEN, {"window": 0, "t_ns": 2})
        writer.write_json(Record.WINDOW_CLOSE, {"window": 0, "t_ns": 8, "trace": "t"})
        writer.write_json(Record.WINDOW_OPEN, {"window": 1, "t_ns": 9})

    process = written(fill)
    assert [window.close and window.close.t_ns for window in process.windows] == [8, None]
    assert not process.ended


def test_cut_off_file_keeps_its_complete_records(tmp_path: Path) -> None:
    path = tmp_path / "rank0.1.wlraw"
    writer = RawWriter(path)
    writer.write_json(Record.PROCESS, {"rank": 3})
    writer.write_steps(array("q", [1, 100, 2, 200]))
    writer.close()
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-5])
    process = read_process(path)
    assert process.process == {"rank": 3}
    assert process.step_ends_ns == []
    assert process.lost_bytes == path.stat().st_size - (whole - 9 - 32)


def test_record_that_lacks_a_key_is_named(written: Written) -> None:
    with pytest.raises(LayoutError, match="WINDOW_OPEN"):
        written(lambda writer: writer.write_json(Record.WINDOW_OPEN, {"window": 0}))


@pytest.mark.parametrize("wrong", [{"price": 3}, {"markers": [[1, 2]]}, {"clock": "x"}, {"main_thread": "x"}])
def test_window_close_that_holds_something_else_is_named(wrong: dict[str, Any], written: Written) -> None:
    def fill(writer: RawWriter) -> None:
        writer.write_json(Record.WINDOW_OPEN, {"window": 0, "t_ns": 2})
        writer.write_json(Record.WINDOW_CLOSE, {"window": 0, "t_ns": 8, "trace": "t", **wrong})

    with pytest.raises(LayoutError, match="WINDOW_CLOSE"):
        written(fill)


def test_foreign_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "rank0.1.wlraw"
    with pytest.raises(LayoutError, match="cannot be read"):
        read_process(path)
    path.write_bytes(b"not a capture file")
    with pytest.raises(LayoutError, match="not written by Warplint"):
        read_process(path)
