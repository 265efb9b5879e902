"""Runs small programs under ``warplint run`` as real processes, and reads what was captured."""

from __future__ import annotations

import bisect
import os
import subprocess
import sys
import textwrap
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warplint.capture.layout import (
    CAPTURES_DIRECTORY,
    RawReader,
    RawSource,
    Record,
    RunManifest,
    parse_json,
    parse_layer_calls,
    parse_lines,
    parse_source,
    parse_steps,
)

REPOSITORY = Path(__file__).resolve().parents[2]

TIMEOUT_S = 240
ON_MONITORING = sys.version_info >= (3, 12)

OPTIMIZER = """
class Descent(torch.optim.Optimizer):
    def __init__(self, parameters, lr=0.01):
        super().__init__(parameters, {"lr": lr})
    def add_param_group(self, group):
        self.param_groups.append({**self.defaults, **group, "params": list(group["params"])})
    def zero_grad(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.data.add_(parameter.grad, alpha=-group["lr"])
"""
"""Defines ``Descent``. torch's own optimizers import its compiler, which takes almost as long as torch:
they are for programs that are tested with what they import."""

TRAINING = f"""
import torch
{OPTIMIZER}
model = torch.nn.Linear(8, 8)
optimizer = Descent(model.parameters())
def train(steps):
    for step in range(steps):
        loss = model(torch.randn(4, 8)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
"""Defines ``train(steps)``."""

OF_TORCH = "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
"""After ``TRAINING``: it trains with an optimizer of torch."""

QUICKLY = ("--after", "2", "--steps", "2")
"""Options under which a program of six steps is captured whole: 2 before, lead-in, 2 inside, 1 after."""


@dataclass
class Process:
    """What one raw file holds."""

    path: Path
    process: dict[str, Any] = field(default_factory=dict)
    codes: dict[int, dict[str, Any]] = field(default_factory=dict)
    sources: dict[int, RawSource] = field(default_factory=dict)
    lines: dict[int, array[int]] = field(default_factory=dict)
    steps: list[int] = field(default_factory=list)
    opened: list[dict[str, Any]] = field(default_factory=list)
    closed: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    layers: dict[int, dict[str, Any]] = field(default_factory=dict)
    layer_calls: dict[int, array[int]] = field(default_factory=dict)
    ended: bool = False

    @classmethod
    def read(cls, path: Path) -> Process:
        process = cls(path)
        for record, payload in RawReader(path).records():
            process._add(record, payload)
        return process

    def _add(self, record: Record, payload: bytes) -> None:
        if record is Record.LINES:
            thread, events = parse_lines(payload)
            self.lines.setdefault(thread, array("q")).extend(events)
            known = set(self.codes) | {0}
            assert set(events[1::3]) <= known, "LINES names a code object before CODE does"
        elif record is Record.LAYER_CALLS:
            thread, events = parse_layer_calls(payload)
            self.layer_calls.setdefault(thread, array("q")).extend(events)
        elif record is Record.LAYER:
            layer = parse_json(payload)
            self.layers[layer["id"]] = layer
        elif record is Record.STEPS:
            self.steps.extend(parse_steps(payload)[::2])
        elif record is Record.SOURCE:
            source = parse_source(payload)
            self.sources[source.identifier] = source
        elif record is Record.CODE:
            code = parse_json(payload)
            self.codes[code["id"]] = code
        elif record is Record.PROCESS:
            self.process = parse_json(payload)
        elif record is Record.WINDOW_OPEN:
            self.opened.append(parse_json(payload))
        elif record is Record.WINDOW_CLOSE:
            self.closed.append(parse_json(payload))
        elif record is Record.SAMPLES:
            self.samples.extend(parse_json(payload))
        elif record is Record.NOTE:
            note = parse_json(payload)
            self.notes[note["code"]] = note["text"]
        elif record is Record.END:
            self.ended = True

    def place(self, thread: int, t_ns: int) -> tuple[str, int] | None:
        """File name and line that a thread stood on, by the timeline."""
        events = self.lines.get(thread, array("q"))
        position = bisect.bisect_right(events[::3], t_ns) - 1
        if position < 0:
            return None
        code, line = events[3 * position + 1], events[3 * position + 2]
        if not code:
            return None
        return Path(self.sources[self.codes[code]["file"]].path).name, line

    def lines_of(self, name: str) -> set[int]:
        """The lines that were met in the functions of that name."""
        named = {identifier for identifier, code in self.codes.items() if code["name"] == name}
        return {
            line
            for events in self.lines.values()
            for code, line in zip(events[1::3], events[2::3], strict=True)
            if code in named
        }


@dataclass
class Run:
    """A finished ``warplint run``."""

    returncode: int
    stdout: bytes
    stderr: bytes
    root: Path

    @property
    def captures(self) -> list[Path]:
        return sorted((self.root / CAPTURES_DIRECTORY).iterdir())

    @property
    def folder(self) -> Path:
        (folder,) = self.captures
        return folder

    @property
    def manifest(self) -> RunManifest:
        return RunManifest.read(self.folder)

    @property
    def processes(self) -> list[Process]:
        return [Process.read(path) for path in sorted(self.folder.glob("*.wlraw"))]

    @property
    def process(self) -> Process:
        (process,) = self.processes
        return process


def make_project(root: Path, **files: str) -> Path:
    """A project folder; ``train="…"`` makes train.py."""
    root.mkdir(exist_ok=True)
    (root / "pyproject.toml").write_text("", encoding="utf-8")
    for name, text in files.items():
        (root / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return root


def warplint_run(*words: str) -> list[str]:
    return [sys.executable, "-m", "warplint", "run", *words]


def start(
    root: Path, *words: str, environment: dict[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """``warplint run`` with these words in that folder, without a controlling terminal."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    defaults: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "start_new_session": True,
    }
    return subprocess.Popen(
        warplint_run(*words), cwd=root, env={**clean, **(environment or {})}, **{**defaults, **options}
    )


def finish(process: subprocess.Popen[bytes], root: Path, stdin: bytes | None = None) -> Run:
    stdout, stderr = process.communicate(stdin, timeout=TIMEOUT_S)
    return Run(process.returncode, stdout, stderr, root)


def run(root: Path, *words: str, stdin: bytes | None = None, **options: Any) -> Run:
    if stdin is not None:
        options["stdin"] = subprocess.PIPE
    return finish(start(root, *words, **options), root, stdin)


def says_warplint(root: Path, stderr: bytes) -> bool:
    """Whether there is a word or a frame of ours. Folders around the project and torch may have our name."""
    for folder in (root, REPOSITORY, sys.prefix):
        stderr = stderr.replace(os.fsencode(folder), b"")
    return b"warplint" in stderr


def run_plainly(root: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """The same command without Warplint."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        words, cwd=root, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False, **options
    )


def says_what_it_says_plainly(done: Run, *words: str) -> bool:
    """Whether standard error has nothing, or what the command writes there without Warplint.

    Torch warns of more loader workers than the machine has cores.
    """
    return done.stderr == b"" or done.stderr == run_plainly(done.root, *words).stderr
