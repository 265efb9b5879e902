"""The only file that touches ``torch._inductor``: which source lines each compiled kernel is made from.

Inductor notes them when ``trace.provenance_tracking_level`` stands above 0 while it compiles, and keeps them
in the compiled graph and in its cache (torch 2.9 to 2.14). The level changes neither kernels nor results.

The cache knows a graph by its operators alone. What comes out of it may have been compiled without lines,
before the file was edited, or from another function of the same operators; so the graphs of a captured run
have entries of their own, by a level that stands for the sources and the function. It is part of the cache's
key from torch 2.13 on, and made so in earlier ones. Graphs are therefore compiled anew in the first captured
run after an edit; compiled kernels and autotuning are cached elsewhere, and found.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from warplint.capture.compiled.generated import OPERATOR, launches, stacks_of_definitions
from warplint.capture.late_imports import Guard, LateImports

BASIC = 2
"""The level that only keeps stack traces, as all higher ones do; 1 follows every node through every pass."""
MAX_GRAPHS = 2_000
"""A program that compiles more recompiles without end; a graph of 100 kernels takes some 50 kB."""
KEYLESS = "trace"
"""The settings that torch before 2.13 leaves out of the cache's key, by their prefix."""


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """What Inductor keeps of one compiled graph, forward or backward."""

    key: str | None
    """As in the profiler's ``## Call CompiledFxGraph <key> ##``; None where the graph could not be cached."""
    stacks: str | None
    """JSON: ``kernel:number`` to formatted stacks, one for each graph node in it; None when it kept none."""
    code: str
    """What Inductor generated."""
    listing: str
    """The nodes of the graph it was generated from."""

    def kernels(self) -> list[tuple[str, list[str]]]:
        """Name and stacks of each launch, in order. Raises ValueError or AttributeError."""
        # Backward graphs are compiled late, and those of earlier ones are still among theirs.
        stacks: dict[str, list[str]] = json.loads(self.stacks or "{}")
        defined = stacks_of_definitions(self.code, self.listing)
        found, last = [], list[str]()
        for name, handle in launches(self.code):
            if handle is None:
                # Operators after a kernel without provenance finish its work.
                last = last if name.startswith(OPERATOR) else defined.get(name, [])
                found.append((name, last))
            elif handle in stacks:
                found.append((name, stacks[handle]))
        return found


class Inductor:
    """Has Inductor keep provenance, and collects the graphs that it compiles or loads from a cache."""

    def __init__(self, imports: LateImports, guard: Guard) -> None:
        self._imports, self._guard = imports, guard
        self._graphs: list[CompiledGraph] = []
        self._config: Any = None
        self._keyless: list[str] | None = None
        self._undo: Callable[[], None] | None = None
        self.dropped = 0
        """Graphs beyond MAX_GRAPHS."""
        self.failures: list[str] = []
        """Why kernels of compiled graphs cannot be told apart, each a clause."""

    def install(self) -> None:
        for name, action in (
            ("torch._inductor.config", self._keep_provenance),
            ("torch._inductor.output_code", self._follow_graphs),
        ):
            self._imports.when_imported(name, self._guard(action))

    def remove(self) -> None:
        if self._config is not None:
            self._config.trace.provenance_tracking_level = 0
            self._config._cache_config_ignore_prefix = self._keyless
            self._config = None
        if self._undo is not None:
            self._undo()
            self._undo = None

    def keep_apart(self, number: int) -> None:
        """What is compiled from now on has the cache entries of this number (from 0)."""
        if self._config is not None:
            self._config.trace.provenance_tracking_level = BASIC + number

    def take(self) -> list[CompiledGraph]:
        """The graphs not taken before."""
        taken, self._graphs = self._graphs, []
        return taken

    def _keep_provenance(self, config: Any) -> None:
        level = getattr(getattr(config, "trace", None), "provenance_tracking_level", None)
        if level is None:
            self.failures.append("this torch does not keep the source lines of compiled kernels")
            return
        keyless = getattr(config, "_cache_config_ignore_prefix", None)
        if level != 0 or not isinstance(keyless, list):
            # The user has asked for it: what they get is theirs.
            return
        self._config, self._keyless = config, keyless
        self._config._cache_config_ignore_prefix = [prefix for prefix in keyless if prefix != KEYLESS]
        self.keep_apart(0)

    def _follow_graphs(self, output_code: ModuleType) -> None:
        graph_class = getattr(output_code, "CompiledFxGraph", None)
        original = getattr(graph_class, "post_compile", None)
        if graph_class is None or original is None:
            self.failures.append("this torch does not say when it has compiled a graph")
            return

        keep = self._guard(self._keep)

        @functools.wraps(original)
        def post_compile(graph: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(graph, *args, **kwargs)
            keep(graph)
            return result

        def undo() -> None:
            if graph_class.post_compile is post_compile:
                graph_class.post_compile = original

        graph_class.post_compile = post_compile
        self._undo = undo

    def _keep(self, graph: Any) -> None:
        if len(self._graphs) >= MAX_GRAPHS:
            self.dropped += 1
            return
        key = getattr(graph, "_fx_graph_cache_key", None)
        stacks = getattr(graph, "inductor_provenance_stack_traces_str", None)
        code, listing = (
            getattr(graph, name, None) for name in ("source_code", "inductor_post_grad_graph_str")
        )
        self._graphs.append(
            CompiledGraph(
                key if isinstance(key, str) else None,
                stacks if isinstance(stacks, str) else None,
                code if isinstance(code, str) else "",
                listing if isinstance(listing, str) else "",
            )
        )
