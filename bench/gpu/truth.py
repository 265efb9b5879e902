"""Run a program unchanged while keeping an independent record of which source line caused which work.

    python truth.py forward  RECORD program.py ARGS…
    python truth.py backward RECORD program.py ARGS…

Nothing here knows of Warplint. ``forward`` puts every torch call into a ``truth|FILE|LINE`` annotation of the
profiler's trace, naming the innermost frame of the program's own files (TorchFunctionMode and
``sys._getframe``). ``backward`` keeps autograd's own forward traceback of every graph node
(``set_detect_anomaly(True, check_nan=False)``) and writes ``{"sequence number": [file, line]}`` to RECORD.
A call without a line of the program's own (an optimizer's step hook, say) is left out of both.
"""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

TRACEBACK_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


class LineOfEveryCall(TorchFunctionMode):
    """Annotates each torch call with the program's line that made it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = str(folder)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith(self.folder):
            frame = frame.f_back
        if frame is None:
            return func(*args, **(kwargs or {}))
        with torch.profiler.record_function(f"truth|{frame.f_code.co_filename}|{frame.f_lineno}"):
            return func(*args, **(kwargs or {}))


class LineOfEveryNode:
    """Wraps ``Tensor.backward`` to record, before each backward pass, where its graph's nodes were made."""

    def __init__(self, folder: Path, record: Path) -> None:
        self.folder = str(folder)
        self.stream = record.open("w", encoding="utf-8")
        self.original = torch.Tensor.backward
        torch.autograd.set_detect_anomaly(True, check_nan=False)

    def install(self) -> None:
        original, keep = self.original, self.keep

        def backward(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> None:
            keep(tensor)
            original(tensor, *args, **kwargs)

        torch.Tensor.backward = backward  # type: ignore[method-assign]

    def keep(self, tensor: torch.Tensor) -> None:
        places: dict[int, tuple[str, int]] = {}
        seen: set[Any] = set()
        waiting: list[Any] = [tensor.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            waiting.extend(parent for parent, _ in node.next_functions)
            place = self.place(node.metadata.get("traceback_", []))
            if place is not None:
                places[node._sequence_nr()] = place
        self.stream.write(json.dumps(places) + "\n")
        self.stream.flush()

    def place(self, traceback: list[str]) -> tuple[str, int] | None:
        for entry in reversed(traceback):
            match = TRACEBACK_PLACE.search(entry)
            if match and match["file"].startswith(self.folder):
                return match["file"], int(match["line"])
        return None


def main() -> None:
    kind, record, program, *arguments = sys.argv[1:]
    folder = Path(program).resolve().parent
    sys.argv = [program, *arguments]
    sys.path[0] = str(folder)
    if kind == "forward":
        with LineOfEveryCall(folder):
            runpy.run_path(str(Path(program).resolve()), run_name="__main__")
    else:
        LineOfEveryNode(folder, Path(record)).install()
        runpy.run_path(str(Path(program).resolve()), run_name="__main__")


if __name__ == "__main__":
    main()
