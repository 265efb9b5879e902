"""Signals that come while others are asked about, or before there is a program to pass them to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from programs import TIMEOUT_S, make_project

WATCHED = """
import os, signal, sys, threading, time
from pathlib import Path
def once(name, act):
    # Acts when that function of C has returned.
    def watch(frame, event, function):
        if event == "c_return" and function.__name__ == name:
            sys.setprofile(None)
            act()
    sys.setprofile(watch)
"""

COUNTING = """
import os, signal, time
got = []
signal.signal(signal.SIGINT, lambda number, frame: got.append(number))
print("ready", flush=True)
while not got:
    time.sleep(0.01)
time.sleep(1)
together = len(got)
os.kill(os.getppid(), signal.SIGINT)
time.sleep(1)
print(together, len(got))
"""

STARTING = f"""
{WATCHED}
from warplint.capture.launch import run
def interrupt():
    while Path("said").read_text() != "ready\\n":
        time.sleep(0.01)
    os.killpg(0, signal.SIGINT)
    time.sleep(0.3)
once("fork_exec", interrupt)
run([sys.executable, "count.py"], os.environ)
"""

TWICE = f"""
{WATCHED}
from warplint.capture.group_signals import Witness
known = []
witness = Witness([signal.SIGINT])
signal.signal(signal.SIGINT, lambda number, frame: known.append(witness.group_got(number)))
once("read", lambda: os.killpg(0, signal.SIGINT))
# Not by this thread, whose handler would run unwatched.
threading.Timer(0.2, os.killpg, (0, signal.SIGINT)).start()
time.sleep(1)
print(known)
known.clear()
os.kill(os.getpid(), signal.SIGINT)
time.sleep(0.1)
print(known)
witness.dismiss()
"""


def said_by(root: Path, script: str) -> str:
    with (root / "said").open("wb") as said:
        done = subprocess.run(
            [sys.executable, script],
            cwd=root,
            stdout=said,
            stderr=subprocess.PIPE,
            start_new_session=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    return (root / "said").read_text()


def test_what_the_group_gets_while_the_program_starts_it_gets_once(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", count=COUNTING, start=STARTING)
    assert said_by(root, "start.py") == "ready\n1 2\n", "one with the group, then one that we alone got"


def test_a_second_signal_of_the_group_is_not_taken_for_a_later_one(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", twice=TWICE)
    assert said_by(root, "twice.py") == "[True, True]\n[False]\n"
