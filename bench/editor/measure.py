"""How smooth the language server is beside peers: start, memory, opening, typing, captures, leaving.

    python bench/editor/measure.py [--peer "NAME=COMMAND" …] [--keystrokes 170] [--runs 5]

Starts ``warplint server`` and each peer (``ruff server`` of the development requirements, unless others are
named), and speaks to all of them as the same editor. A person is typed for at ten keystrokes a second, into a
training loop; for each keystroke the time until diagnostics of that text, or of a later one, is taken. All
the while a request that no server knows is sent every 20 ms: how long it takes to be refused is how long the
server was deaf. Costs and captures are Warplint's alone. Linux, since memory is read from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from client import Heard, LanguageServer, initialize
from workload import OPEN_FILES, TYPED, typing_place, write_capture, write_project

OURS = "warplint"
DIAGNOSTICS = "textDocument/publishDiagnostics"
STATE = "warplint/state"
KEYSTROKE_S = 0.1
PING_S = 0.02
WARM_UP = 20
"""Keystrokes before those that count."""
SETTLED_S = 4.0
"""How long a server is left alone before its memory is read, and before it is typed at."""
GONE_S = 30.0
"""How long a server may take to leave."""

Figures = dict[str, float]


@dataclass(slots=True)
class Editor:
    """A server in a project, and the documents that are open in it."""

    server: LanguageServer
    folder: Path
    draws: bool
    versions: dict[str, int] = field(default_factory=dict)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    async def open(self, name: str) -> float:
        """Milliseconds until the document's first diagnostics."""
        since, sent_s = len(self.server.heard), time.perf_counter()
        self.versions[name] = 1
        text = (self.folder / name).read_text(encoding="utf-8")
        item = {"uri": self.uri(name), "languageId": "python", "version": 1, "text": text}
        self.server.notify("textDocument/didOpen", {"textDocument": item})
        heard = await self.server.wait_for(DIAGNOSTICS, since, lambda params: params["uri"] == self.uri(name))
        return (heard.at_s - sent_s) * 1e3

    async def type(self, name: str, keystrokes: int) -> Figures:
        """Type as a person does. Milliseconds: keystroke to diagnostics, last one to costs, and deafness."""
        await asyncio.sleep(SETTLED_S)
        since, deaf_ms = len(self.server.heard), list[float]()
        async with self._pinging(deaf_ms):
            sent_s = await self._keystrokes(name, keystrokes)
            last = max(sent_s)
            await self._heard(DIAGNOSTICS, since, name, last)
            drawn = await self._heard(STATE, since, name, last) if self.draws else None
        heard = [each for each in self.server.heard[since:] if each.method == DIAGNOSTICS]
        waits_ms = [
            (next(each.at_s for each in heard if self._is_of(each, name, version, at_s)) - at_s) * 1e3
            for version, at_s in list(sent_s.items())[WARM_UP:]
        ]
        figures = {
            **spread("edit to diagnostics", waits_ms),
            "last edit to diagnostics, ms": waits_ms[-1],
            **spread("deaf", deaf_ms),
        }
        if drawn is not None:
            figures["last edit to costs and score, ms"] = (drawn.at_s - sent_s[last]) * 1e3
        return figures

    async def _keystrokes(self, name: str, count: int) -> dict[int, float]:
        """When each version was sent."""
        line, column = typing_place((self.folder / name).read_text(encoding="utf-8"))
        sent_s: dict[int, float] = {}
        due_s = time.perf_counter()
        for number in range(count):
            letter = TYPED[number % len(TYPED)]
            self.versions[name] += 1
            place = {"line": line, "character": column}
            self.server.notify(
                "textDocument/didChange",
                {
                    "textDocument": {"uri": self.uri(name), "version": self.versions[name]},
                    "contentChanges": [{"range": {"start": place, "end": place}, "text": letter}],
                },
            )
            sent_s[self.versions[name]] = time.perf_counter()
            line, column = (line + 1, 0) if letter == "\n" else (line, column + 1)
            due_s += KEYSTROKE_S
            await asyncio.sleep(due_s - time.perf_counter())
        return sent_s

    async def _heard(self, method: str, since: int, name: str, version: int) -> Heard:
        return await self.server.wait_for(
            method,
            since,
            lambda params: params["uri"] == self.uri(name) and (params.get("version") or version) >= version,
        )

    def _is_of(self, heard: Heard, name: str, version: int, sent_s: float) -> bool:
        """Whether diagnostics are of this version or a later one; of those without a version, time tells."""
        told = heard.params.get("version")
        return heard.params["uri"] == self.uri(name) and heard.at_s >= sent_s and (told or version) >= version

    @asynccontextmanager
    async def _pinging(self, deaf_ms: list[float]) -> AsyncIterator[None]:
        """Ask again and again what no server answers, and note how long the refusal takes."""

        done = asyncio.Event()

        async def ping() -> None:
            while not done.is_set():
                asked_s = time.perf_counter()
                await self.server.request("bench/ping", {})
                deaf_ms.append((time.perf_counter() - asked_s) * 1e3)
                await asyncio.sleep(PING_S)

        pinging = asyncio.create_task(ping())
        try:
            yield
        finally:
            done.set()
            await pinging

    async def new_capture(self, name: str, shown: str) -> Figures:
        """Write a capture beside the open documents. Milliseconds until one of them is redrawn with it."""
        since, deaf_ms = len(self.server.heard), list[float]()
        async with self._pinging(deaf_ms):
            await asyncio.to_thread(write_capture, self.folder, name)
            written_s = time.perf_counter()
            heard = await self.server.wait_for(
                STATE,
                since,
                lambda params: (
                    params["uri"] == self.uri(shown)
                    and params["capture"] is not None
                    and params["capture"]["name"] == name
                ),
            )
        return {"capture to costs, ms": (heard.at_s - written_s) * 1e3, **spread("deaf", deaf_ms)}


def spread(label: str, values_ms: list[float]) -> Figures:
    """The middle, the slow end and the slowest."""
    ordered = sorted(values_ms)
    return {
        f"{label}, p50 ms": statistics.median(ordered),
        f"{label}, p95 ms": ordered[int(0.95 * (len(ordered) - 1))],
        f"{label}, max ms": ordered[-1],
    }


@dataclass(frozen=True, slots=True)
class Bench:
    """One server's command, the folder it works in, and how much of everything."""

    name: str
    command: str
    folder: Path
    keystrokes: int
    runs: int

    @asynccontextmanager
    async def editor(self) -> AsyncIterator[Editor]:
        server = await LanguageServer.start(self.command, self.folder)
        try:
            await initialize(server, self.folder)
            yield Editor(server, self.folder, draws=self.name == OURS)
        finally:
            await server.stop()

    async def starting(self) -> Figures:
        took_ms = []
        for _ in range(self.runs):
            begin_s = time.perf_counter()
            server = await LanguageServer.start(self.command, self.folder)
            await initialize(server, self.folder)
            took_ms.append((time.perf_counter() - begin_s) * 1e3)
            await server.stop()
        async with self.editor() as editor:
            await asyncio.sleep(SETTLED_S)
            idle_mb = editor.server.resident_mb()
        return {"process to initialized, median ms": statistics.median(took_ms), "memory, MB": idle_mb}

    async def small_file(self) -> Figures:
        return await self._one_file("small.py")

    async def large_file(self) -> Figures:
        return await self._one_file("large.py")

    async def _one_file(self, name: str) -> Figures:
        async with self.editor() as editor:
            opened_ms = await editor.open(name)
            typed = await editor.type(name, self.keystrokes)
            return {"open to diagnostics, ms": opened_ms, **typed, "memory, MB": editor.server.resident_mb()}

    async def thousand_lines(self) -> Figures:
        return await self._one_file("thousand.py")

    async def ten_thousand_lines(self) -> Figures:
        return await self._one_file("ten_thousand.py")

    async def many_files(self) -> Figures:
        async with self.editor() as editor:
            opened_ms = [await editor.open(f"train_{number}.py") for number in range(OPEN_FILES)]
            typed = await editor.type("train_7.py", self.keystrokes)
            figures = {"open to diagnostics, all files, ms": sum(opened_ms), **typed}
            return {**figures, "memory, MB": editor.server.resident_mb()}

    async def captured_small_file(self) -> Figures:
        return await self._captured("train_7.py")

    async def captured_large_file(self) -> Figures:
        return await self._captured("large.py")

    async def _captured(self, name: str) -> Figures:
        async with self.editor() as editor:
            await editor.open(name)
            figures = await editor.new_capture("20260101T000000Z-first", name)
            captured = {f"capture: {label}": figure for label, figure in figures.items()}
            typed = await editor.type(name, self.keystrokes)
            shutil.rmtree(self.folder / ".warplint")
            return {**captured, **typed, "memory, MB": editor.server.resident_mb()}

    async def leaving(self) -> Figures:
        """Seconds from the end of the editor's process, or of its stream, to that of the server."""
        with subprocess.Popen(["sleep", "600"]) as parent:
            server = await LanguageServer.start(self.command, self.folder)
            await initialize(server, self.folder, parent.pid)
            parent.kill()
            parent.wait()
            killed_s = await seconds_to_exit(server)
        server = await LanguageServer.start(self.command, self.folder)
        await initialize(server, self.folder)
        assert server.process.stdin is not None
        server.process.stdin.close()
        return {
            "process killed, streams open, s": killed_s,
            "streams closed, s": await seconds_to_exit(server),
        }


async def seconds_to_exit(server: LanguageServer) -> float:
    """Infinite for a server that stays."""
    begin_s = time.perf_counter()
    try:
        await asyncio.wait_for(server.process.wait(), GONE_S)
    except asyncio.TimeoutError:
        await server.stop()
        return float("inf")
    return time.perf_counter() - begin_s


Scenario = Callable[[Bench], Awaitable[Figures]]
SCENARIOS: dict[str, Scenario] = {
    "start": Bench.starting,
    "one file of 150 lines": Bench.small_file,
    "one file of 1,000 lines": Bench.thousand_lines,
    "one file of 10,000 lines": Bench.ten_thousand_lines,
    "one file of 300 kB": Bench.large_file,
    f"{OPEN_FILES} open files": Bench.many_files,
    "leave": Bench.leaving,
}
OPENED, TYPED_P95 = "open to diagnostics, ms", "edit to diagnostics, p95 ms"
GOALS: dict[str, list[tuple[str, float, float | None]]] = {
    "one file of 1,000 lines": [(OPENED, 150, None), (TYPED_P95, 30, 3)],
    "one file of 10,000 lines": [(TYPED_P95, 80, None)],
}
"""Figures of a scenario, each with what it may be at most, and how many times the first peer's."""
OUR_SCENARIOS: dict[str, Scenario] = {
    "150 lines in a capture of 23,000": Bench.captured_small_file,
    "300 kB in a capture of 23,000 lines": Bench.captured_large_file,
}


async def measure(benches: list[Bench], only: str) -> None:
    ours, *peers = [bench.name for bench in benches]
    for title, scenario in {**SCENARIOS, **OUR_SCENARIOS}.items():
        if only not in title:
            continue
        taking_part = benches if title in SCENARIOS else benches[:1]
        results = {bench.name: await scenario(bench) for bench in taking_part}
        compared = [name for name in peers if name in results]
        heads = [ours, *compared, *(f"/ {name}" for name in compared)]
        print(f"\n{title:44}" + "".join(f"{head:>14}" for head in heads))
        for label, figure in results[ours].items():
            others = [results[name].get(label) for name in compared]
            ratios = [figure / other if other else None for other in others]
            print(f"  {label:42}" + "".join(f"{shown(value):>14}" for value in [figure, *others, *ratios]))
        for label, most, times in GOALS.get(title, []):
            said = f"  goal: {label}: {shown(results[ours][label])}, at most {most:g}"
            if times is not None and compared:
                ratio = results[ours][label] / results[compared[0]][label]
                said += f"; {ratio:.1f} times {compared[0]}, at most {times:g}"
            print(said)
        sys.stdout.flush()


def shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def machine() -> str:
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    model = models[0] if models else platform.machine()
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}"


def version(command: str) -> str:
    """What a server's program says of its version."""
    program = shlex.split(command)
    arguments = program[: program.index("-m") + 2] if "-m" in program else program[:1]
    said = subprocess.run([*arguments, "--version"], capture_output=True, text=True, check=True)
    return (said.stdout or said.stderr).strip()


def load() -> str:
    return "load " + " ".join(f"{load:.1f}" for load in os.getloadavg())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ruff = f"ruff={Path(sys.executable).parent / 'ruff'} server"
    parser.add_argument("--peer", action="append", metavar="NAME=COMMAND")
    parser.add_argument("--keystrokes", type=int, default=170)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="scenarios with these words in their title")
    args = parser.parse_args()
    commands = [f"{OURS}={sys.executable} -m warplint server", *(args.peer or [ruff])]
    print(f"{machine()}, {load()} at the start")
    with tempfile.TemporaryDirectory() as folder:
        benches = []
        for named in commands:
            name, _, command = named.partition("=")
            project = Path(folder) / name / "project"
            write_project(project)
            benches.append(Bench(name, command, project, args.keystrokes, args.runs))
            print(f"{name}: {version(command)}")
        asyncio.run(measure(benches, args.only))
    print(f"\n{load()} at the end")


if __name__ == "__main__":
    main()
