"""What each layer of the program's model cost: called by its path, class, shapes and dtype."""

from __future__ import annotations

import bisect
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from warplint.profile.attribution.charge import Phase
from warplint.profile.raw.layer import RawLayer
from warplint.profile.raw.process import RawWindow
from warplint.profile.root_relative import root_relative
from warplint.profile.sections.named_costs import LayerCost

MOST_LAYERS = 1_000
"""Layers that are kept, the dearest; the rest is one more, OTHERS. Capture names no more in a window."""
OTHERS = "others"
OUTSIDE = 0
"""The number of no layer."""

Named = tuple[str, RawLayer]
"""A layer as windows know it alike: its tree, and the rest without what numbers and calls of a window
have."""


@dataclass(slots=True)
class LayerTally:
    """The cost of one layer so far."""

    calls: int = 0
    launches: int = 0
    forward_ns: int = 0
    backward_ns: int = 0
    cpu_ns: int = 0
    inputs: set[str] = field(default_factory=set)
    """Of the first call in each window."""
    varies: bool = False

    def add(self, other: LayerTally) -> None:
        self.inputs |= other.inputs
        self.varies |= other.varies
        self.calls += other.calls
        self.launches += other.launches
        self.forward_ns += other.forward_ns
        self.backward_ns += other.backward_ns
        self.cpu_ns += other.cpu_ns

    @property
    def order(self) -> tuple[int, int]:
        return self.forward_ns + self.backward_ns, self.cpu_ns


class ThreadLayers:
    """One thread's calls: from ``times[i]`` until ``times[i + 1]`` the innermost is of ``layers[i]``."""

    def __init__(self, events: array[int]) -> None:
        """``events`` are flat (t_ns, layer) pairs; layer 0 ends the innermost call."""
        self.times, self.layers, self.starts = array("q"), array("q"), array("q")
        stack = [OUTSIDE]
        for time, layer in zip(events[0::2], events[1::2], strict=False):
            if layer:
                stack.append(layer)
            elif len(stack) > 1:
                # An end without a start is of a call that began before the window.
                stack.pop()
            self.times.append(time)
            self.layers.append(stack[-1])
            self.starts.append(layer)

    def at(self, t_ns: int) -> int:
        index = bisect.bisect_right(self.times, t_ns) - 1
        return self.layers[index] if index >= 0 else OUTSIDE

    def spans(self, begin_ns: int, end_ns: int) -> Iterator[tuple[int, int, int]]:
        """(start, end, layer) within the range, where the thread was in a layer."""
        for index, layer in enumerate(self.layers):
            following = self.times[index + 1] if index + 1 < len(self.times) else end_ns
            start, end = max(begin_ns, self.times[index]), min(end_ns, following)
            if layer and end > start:
                yield start, end, layer


class LayerTimeline:
    """Every thread's layers in one window."""

    def __init__(self, window: RawWindow) -> None:
        self.names = window.layers
        trees = _trees(list(window.layers.values()))
        self._named = {
            number: (trees[layer.root], replace(layer, root=0, input="", varies=False))
            for number, layer in window.layers.items()
        }
        self.threads = {thread: ThreadLayers(events) for thread, events in window.layer_calls.items()}

    def at(self, thread: int, t_ns: int) -> int:
        found = self.threads.get(thread)
        return OUTSIDE if found is None else found.at(t_ns)

    def named(self, number: int) -> Named | None:
        """What a layer is; None where capture had no name left for it."""
        return self._named.get(number)

    def tally(self, begin_ns: int, end_ns: int) -> LayersTally:
        """Calls and host time of every layer within the range."""
        tallies: dict[int, LayerTally] = defaultdict(LayerTally)
        for thread in self.threads.values():
            for time, layer in zip(thread.times, thread.starts, strict=True):
                if layer and begin_ns <= time < end_ns:
                    tallies[layer].calls += 1
            for start, end, layer in thread.spans(begin_ns, end_ns):
                tallies[layer].cpu_ns += end - start
        found = LayersTally()
        for number, tally in tallies.items():
            known = self.names.get(number)
            if known is not None:
                tally.inputs, tally.varies = {known.input}, known.varies
            found.of(self.named(number)).add(tally)
        return found


@dataclass(slots=True)
class LayersTally:
    """By what the layers are; None for those beyond the bound of capture."""

    layers: dict[Named | None, LayerTally] = field(default_factory=lambda: defaultdict(LayerTally))

    def of(self, layer: Named | None) -> LayerTally:
        return self.layers[layer]

    def add(self, other: LayersTally) -> None:
        for layer, tally in other.layers.items():
            self.layers[layer].add(tally)

    def launched(self, layer: Named | None, phase: Phase, gpu_ns: int) -> None:
        """Add a piece of GPU work."""
        tally = self.layers[layer]
        if phase is Phase.BACKWARD:
            tally.backward_ns += gpu_ns
        else:
            tally.forward_ns += gpu_ns

    def costs(self, root: str) -> list[LayerCost]:
        """By falling time. ``root`` is the project's."""
        paths = _paths([layer for layer in self.layers if layer is not None])
        order = sorted(
            (layer for layer in self.layers if layer is not None),
            key=lambda layer: (
                *(-part for part in self.layers[layer].order),
                paths[layer],
                describe(layer[1]),
            ),
        )
        kept = [_cost(layer[1], paths[layer], self.layers[layer], root) for layer in order[:MOST_LAYERS]]
        rest = LayerTally()
        for other in [None, *order[MOST_LAYERS:]]:
            if other in self.layers:
                rest.add(self.layers[other])
        return [*kept, _cost(NAMELESS, OTHERS, rest, root)] if rest.calls or rest.launches else kept


def describe(layer: RawLayer) -> str:
    """``Linear[1024x2048] bias batch=64 bf16``."""
    words = [f"{layer.class_name}[{layer.shape}]" if layer.shape else layer.class_name]
    if layer.bias:
        words.append("bias")
    batch, _, more = layer.input.partition("x")
    if more:
        words.append(f"batch={batch}")
    if layer.varies:
        words.append("varies")
    if layer.dtype or layer.weights:
        words.append(layer.dtype or layer.weights)
    if layer.dtype and layer.weights not in ("", layer.dtype):
        words.append(f"(weights {layer.weights})")
    return " ".join(words)


def _trees(layers: list[RawLayer]) -> dict[int, str]:
    """The number of a tree to what it is called: the class of its top, numbered where there are several."""
    tops = {layer.root: layer.class_name for layer in layers if layer.path == layer.class_name}
    alike: Counter[str] = Counter()
    names = {}
    for root in sorted({layer.root for layer in layers}):
        top = tops.get(root, "")
        alike[top] += 1
        names[root] = top if alike[top] == 1 else f"{top}#{alike[top]}"
    return names


def _paths(layers: list[Named]) -> dict[Named, str]:
    """The paths, with the tree before those that several trees have."""
    trees: Mapping[str, set[str]] = defaultdict(set)
    for tree, layer in layers:
        trees[layer.path].add(tree)
    found = {}
    for tree, layer in layers:
        if len(trees[layer.path]) == 1:
            found[tree, layer] = layer.path
        else:
            found[tree, layer] = tree if layer.path == layer.class_name else f"{tree}.{layer.path}"
    return found


def _cost(layer: RawLayer, path: str, tally: LayerTally, root: str) -> LayerCost:
    varies = tally.varies or len(tally.inputs) > 1
    layer = replace(layer, input=min(tally.inputs, default=""), varies=varies)
    return LayerCost(
        path=path,
        class_name=layer.class_name,
        description=describe(layer),
        dtype=layer.dtype or layer.weights,
        input=layer.input,
        file=root_relative(layer.file, root) if layer.file else "",
        line=layer.line,
        calls=tally.calls,
        launches=tally.launches,
        gpu_forward_us=tally.forward_ns / 1000,
        gpu_backward_us=tally.backward_ns / 1000,
        cpu_us=tally.cpu_ns / 1000,
    )


NAMELESS = RawLayer(0, OTHERS, OTHERS, "", False, "", "", 0, "", "", False)
