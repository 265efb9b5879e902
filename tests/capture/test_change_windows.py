"""A program whose steps come to take another time is captured again there."""

from __future__ import annotations

from pathlib import Path

from programs import TRAINING, make_project, run

from warplint.profile.store import open_profile

SLOWS_DOWN = f"""
import time
{TRAINING}
def fast():
    time.sleep(0.02)
def slow():
    time.sleep(0.06)
begun = time.monotonic()
while time.monotonic() < begun + 6:
    fast()
    train(1)
begun = time.monotonic()
while time.monotonic() < begun + 9:
    slow()
    train(1)
"""


def test_steps_that_become_slower_get_a_window_and_are_what_is_shown(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=SLOWS_DOWN)
    done = run(root, "--budget", "100", "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    opened = done.process.opened
    assert [window["reason"].split(" ")[0] for window in opened] == ["step", "steps"]
    profile = open_profile(done.folder)
    (change,) = [each for each in profile.change_points if each.window == 2]
    assert change.before_us < change.after_us * 0.7
    assert opened[0]["step"] < change.step <= opened[1]["step"]
    lines = SLOWS_DOWN.splitlines()
    costs = {cost.line: cost.share for cost in profile.lines}
    assert costs[lines.index("    time.sleep(0.06)") + 1] > 0.5
    assert lines.index("    time.sleep(0.02)") + 1 not in costs
    assert any(note.startswith("window 1 is left out") for note in profile.notes)


def test_without_a_budget_there_is_one_window(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=SLOWS_DOWN)
    assert len(run(root, "--budget", "0", "train.py").process.opened) == 1
