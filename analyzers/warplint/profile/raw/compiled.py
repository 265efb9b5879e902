"""What a raw file says of torch.compile: its graphs, and where it broke them or compiled them again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RawKernel:
    """One launch of a compiled graph: the kernel's name and the (source id, line) of its operators."""

    name: str
    lines: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class RawGraph:
    """A compiled graph, forward or backward, with its launches in order; ``key`` None: it has no name."""

    key: str | None
    kernels: tuple[RawKernel, ...]

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> RawGraph:
        """Raises KeyError, TypeError or ValueError when it holds something else."""
        key = value["graph"]
        kernels = (
            RawKernel(str(name), tuple((int(source), int(line)) for source, line in lines))
            for name, lines in value["kernels"]
        )
        return cls(None if key is None else str(key), tuple(kernels))


@dataclass(frozen=True, slots=True)
class RawEvent:
    """A graph break or a recompilation; ``file`` is as the program named it."""

    file: str
    line: int
    reason: str
    count: int

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> RawEvent:
        return cls(str(value["file"]), int(value["line"]), str(value["reason"]), int(value["count"]))


@dataclass(slots=True)
class RawCompilation:
    """Of the whole process."""

    graphs: list[RawGraph] = field(default_factory=list)
    graph_breaks: list[RawEvent] = field(default_factory=list)
    recompilations: list[RawEvent] = field(default_factory=list)
    dropped: int = 0
    """Distinct breaks and recompilations beyond what capture keeps."""

    def add_graph(self, value: dict[str, Any]) -> None:
        self.graphs.append(RawGraph.of_json(value))

    def set_events(self, value: dict[str, Any]) -> None:
        self.graph_breaks = [RawEvent.of_json(each) for each in value["graph_breaks"]]
        self.recompilations = [RawEvent.of_json(each) for each in value["recompilations"]]
        self.dropped = int(value["dropped"])
