"""What a raw file says of CUDA graphs: when each was captured, and which was replayed when."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RawCudaGraph:
    """The capture of a graph. Times are the process's ``perf_counter_ns``."""

    graph: int
    window: int | None
    """The window it was captured in; its trace and lines tell of it then."""
    begin_ns: int
    end_ns: int
    thread: int
    """Native id."""
    trace: dict[str, Any]
    """Where it was captured outside windows: what WINDOW_CLOSE says of a window's trace."""
    lines: dict[int, array[int]]
    """Thread to (t_ns, source, line) triples, those of the capture among others."""

    @classmethod
    def of_json(cls, value: dict[str, Any], lines: dict[int, array[int]]) -> RawCudaGraph:
        """Raises KeyError, TypeError or ValueError when it holds something else."""
        window = value["window"]
        trace = {key: value[key] for key in ("trace", "markers", "clock")}
        return cls(
            graph=int(value["graph"]),
            window=None if window is None else int(window),
            begin_ns=int(value["begin_ns"]),
            end_ns=int(value["end_ns"]),
            thread=int(value["thread"]),
            trace={**trace, "t_ns": int(value["end_ns"]), "main_thread": int(value["thread"])},
            lines=lines,
        )


def replays_of_json(value: dict[str, Any]) -> list[tuple[int, int]]:
    """(t_ns, graph) in order."""
    return [(int(t_ns), int(graph)) for t_ns, graph in value["replays"]]
