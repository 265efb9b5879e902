"""What becomes of a raw file that can be written no more, while others write it too."""

from __future__ import annotations

import sys
from pathlib import Path

from programs import make_project, run_plainly

FULL = """
import resource, signal, threading, time, warnings
warnings.simplefilter("error")
from pathlib import Path
from warplint.capture.recorder import INFO, Recorder
from warplint.capture.layout import Record
failures = []
def full(name, kind=Recorder):
    recorder = kind(Path(name), lambda: failures.append(name))
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, -1))
    return recorder
"""


def said_by(tmp_path: Path, text: str) -> str:
    root = make_project(tmp_path / "project", write=FULL + text)
    done = run_plainly(root, sys.executable, "write.py")
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_a_write_that_fails_in_a_handler_fails_no_write_that_it_interrupts(tmp_path: Path) -> None:
    text = """
recorder = full("raw")
signal.signal(signal.SIGUSR1, lambda number, frame: recorder.note(INFO, "handler", "x" * 30_000))
class Interrupted(dict):
    def items(self):
        signal.raise_signal(signal.SIGUSR1)
        return [("key", "value")]
recorder.json(Record.NOTE, Interrupted(key="value"))
recorder.note(INFO, "late", "")
recorder.close()
print(recorder.failed, failures)
"""
    assert said_by(tmp_path, text) == "True ['raw']\n"


def test_a_write_that_fails_fails_none_of_another_thread(tmp_path: Path) -> None:
    text = """
class Slow(dict):
    def items(self):
        time.sleep(0.02)
        return [("key", "x" * 30_000)]
class HeldUp(Recorder):
    def __setattr__(self, name, value):
        if (name, value) == ("failed", True):
            time.sleep(0.01)
        super().__setattr__(name, value)
raised = []
threading.excepthook = lambda error: raised.append(repr(error.exc_value))
def write(recorder):
    for index in range(2):
        recorder.json(Record.NOTE, Slow(key="value"))
for name in range(5):
    recorder = full(str(name), HeldUp)
    threads = [threading.Thread(target=write, args=(recorder,)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(raised, len(failures))
"""
    assert said_by(tmp_path, text) == "[] 5\n"
