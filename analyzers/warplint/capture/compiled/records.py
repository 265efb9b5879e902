"""What torch.compile made of the program: the source lines of each kernel, graph breaks, recompilations."""

from __future__ import annotations

import re
import zlib
from typing import Any

from warplint.capture.compiled.dynamo import Dynamo, Events
from warplint.capture.compiled.inductor import CompiledGraph, Inductor
from warplint.capture.late_imports import Action, LateImports
from warplint.capture.layout import Record
from warplint.capture.lines.loaded_texts import LoadedTexts
from warplint.capture.lines.sources import Sources
from warplint.capture.lines.user_code import UserCode
from warplint.capture.recorder import WARNING, Recorder

MAX_KERNELS = 50_000
"""Kernels recorded in a process: some 5 MB of raw file."""
MAX_LINES = 100
"""Lines of one kernel: Inductor fuses at most 64 nodes by default."""

_FRAME = re.compile(r'^ *File "(.+)", line (\d+), in ', re.MULTILINE)
_SECOND_STACK = "Gradient addition node"
"""Begins the part of a node's stack that tells where else the tensor was used."""


class Compiled:
    """Installed when torch is imported; writes what it knows at the end of each window and of the program."""

    def __init__(self, recorder: Recorder, sources: Sources, user_code: UserCode) -> None:
        self._recorder, self._sources, self._user_code = recorder, sources, user_code
        self._imports = LateImports()
        self._inductor = Inductor(self._imports, self._guarded)
        self._dynamo = Dynamo(self._imports, user_code.holds_file, self._compilation_starts, self._guarded)
        self._texts = LoadedTexts(user_code)
        self._written: object = None
        self._kernels = 0
        self._left_out = 0
        self._unknown = 0
        self._failures: list[str] = []

    def install(self) -> None:
        self._inductor.install()
        self._dynamo.install()

    def remove(self) -> None:
        self._imports.remove()
        self._inductor.remove()
        self._dynamo.remove()

    def step_ended(self) -> None:
        self._guarded(lambda _: self._dynamo.look())(None)

    def write(self) -> None:
        """Write the graphs that are new, and the breaks and recompilations of the run so far."""
        self._guarded(lambda _: self._write())(None)

    def _write(self) -> None:
        for graph in self._inductor.take():
            self._write_graph(graph)
        self._dynamo.look()
        events = {
            "graph_breaks": self._events(self._dynamo.graph_breaks),
            "recompilations": self._events(self._dynamo.recompilations),
            "dropped": self._dynamo.graph_breaks.dropped + self._dynamo.recompilations.dropped,
        }
        if events != self._written and any(events.values()):
            self._recorder.json(Record.COMPILATION, events)
            self._written = events

    def note_what_is_lost(self) -> None:
        """Say, once at the end, which kernels stay on the line that called their region."""
        left_out = self._left_out + self._inductor.dropped
        clauses = [*self._inductor.failures, *self._failures]
        if self._unknown:
            clauses.append(
                f"{self._unknown} compiled graphs came without source lines from a cache that was filled "
                "without Warplint (TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 compiles them anew)"
            )
        if left_out:
            clauses.append(f"{left_out} of the compiled graphs are beyond what is recorded")
        for clause in clauses:
            self._recorder.note(
                WARNING, "compiled-lines", f"kernels stay on the line that called their region: {clause}"
            )

    def _guarded(self, action: Action) -> Action:
        """What fails here was not made for this torch: torch.compile is followed no longer, all else is."""

        def guarded(argument: Any) -> None:
            try:
                action(argument)
            except Exception as error:
                self._failures.append(f"{type(error).__name__}: {error}")
                self.remove()

        return guarded

    def _compilation_starts(self, compile_id: str) -> None:
        frame = compile_id.partition("/")[0]
        self._inductor.keep_apart(zlib.crc32(f"{self._texts.digest()} {frame}".encode()))

    def _write_graph(self, graph: CompiledGraph) -> None:
        if graph.stacks is None:
            self._unknown += 1
            return
        try:
            kernels = [[name, self._lines(stacks)] for name, stacks in graph.kernels()]
        except (ValueError, TypeError, AttributeError) as error:
            self._inductor.failures.append(f"Inductor's provenance cannot be read: {error}")
            return
        if self._kernels + len(kernels) > MAX_KERNELS:
            self._left_out += 1
            return
        self._kernels += len(kernels)
        self._recorder.json(Record.COMPILED_GRAPH, {"graph": graph.key, "kernels": kernels})

    def _lines(self, stacks: list[str]) -> list[tuple[int, int]]:
        """The distinct (SOURCE id, line) of a kernel's graph nodes: the innermost frame of the user's."""
        places: dict[tuple[int, int], None] = {}
        for stack in stacks:
            place = self._place(stack)
            if place is not None and len(places) < MAX_LINES:
                places[self._sources.number(place[0]), place[1]] = None
        return list(places)

    def _place(self, stack: str) -> tuple[str, int] | None:
        for part in (stack.partition(_SECOND_STACK)[0], stack):
            for file, line in reversed(_FRAME.findall(part)):
                if self._user_code.holds_file(file):
                    return file, int(line)
        return None

    def _events(self, events: Events) -> list[dict[str, Any]]:
        return [
            {"file": file, "line": line, "reason": reason, "count": count}
            for (file, line, reason), count in events.counts.items()
        ]
