"""What is said of a capture whose program died inside a window."""

from __future__ import annotations

from array import array
from pathlib import Path

from warplint.capture.layout import RawWriter, Record, RunManifest, raw_name
from warplint.capture.summary import Summary, summarize
from warplint.profile.join import join
from warplint.report.costs_summary import summary

THREAD = 7
NOTHING = "no step was captured"


def write_head(folder: Path) -> RawWriter:
    """A process up to the window that it died in."""
    RunManifest(["python"], "/app", "/app", 0.0, "0.1.0", finished=1.0, signal=9).write(folder)
    writer = RawWriter(folder / raw_name(0, 1))
    writer.write_json(Record.PROCESS, {"rank": 0, "pid": 1})
    opened = {"window": 1, "t_ns": 1_000, "step": 3, "step_kind": "optimizer", "reason": "asked"}
    writer.write_json(Record.WINDOW_OPEN, opened)
    return writer


def test_lines_that_were_written_are_to_be_seen(tmp_path: Path) -> None:
    writer = write_head(tmp_path)
    writer.write_lines(THREAD, array("q", [1_000, 1, 1, 5_000, 1, 2]))
    writer.close()
    said = "the process ended inside window 1: its lines were kept, its operators and kernels are lost"
    assert summarize(tmp_path) == Summary(True, [said])
    assert summary(join(tmp_path)) != NOTHING


def test_before_lines_were_written_nothing_is_to_be_seen(tmp_path: Path) -> None:
    write_head(tmp_path).close()
    said = (
        "the process ended inside window 1 before lines of it were written: "
        "the times of the steps before it are all that was kept"
    )
    assert summarize(tmp_path) == Summary(False, [said])
    assert summary(join(tmp_path)) == NOTHING
