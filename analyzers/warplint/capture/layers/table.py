"""Numbers the modules that are called in a window, and records what each is."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from warplint.capture.layers.names import describe, describe_call
from warplint.capture.layout import Record
from warplint.capture.recorder import INFO, Recorder

MOST_LAYERS = 1_000
"""Layers that have a name of their own; further ones share the number OTHERS."""
MOST_MODULES = 50_000
"""Modules of one tree that are looked at for their path: some 0.1 s."""
LEAVE, OTHERS = 0, 1
"""In place of a layer's number: the innermost call ends; a layer beyond MOST_LAYERS."""
VARIES = object()
"""In place of a shape: calls differ, and that is recorded."""

WRAPPING = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Attributes under which wrappers of torch's keep what they wrap: no part of a layer's name."""
WRAPPERS = frozenset({"DistributedDataParallel", "DataParallel", "AveragedModel"})
"""Classes that keep what they wrap under ``module``."""


class LayerTable:
    """A module's number by its identity. What fails is said once, and has no name."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.numbers: dict[int, int] = {}
        """Of every living module that was called, by ``id``."""
        self.shapes: dict[int, object] = {OTHERS: VARIES}
        """By layer: the shape that its first call got, VARIES, or None where it got no plain tensor."""
        self.pending: set[int] = set()
        """Layers of which no call has returned yet."""
        self._paths: dict[int, tuple[int, str]] = {}
        self._references: dict[int, weakref.ref[torch.nn.Module]] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self._records: dict[int, dict[str, Any]] = {}
        self._roots: list[tuple[type, weakref.ref[torch.nn.Module]]] = []
        self._failed = False

    def meet(self, module: torch.nn.Module, outermost: bool, shape: object) -> int:
        """Number a module that is called for the first time. ``outermost``: no other module's call is round
        it."""
        number = OTHERS
        try:
            self._remember(module)
            number = self._number(module, outermost)
        except Exception as error:
            self.fail(error)
        self.numbers[id(module)] = number
        self.shapes.setdefault(number, shape)
        return number

    def called(self, number: int, arguments: object, result: object) -> None:
        """Record a layer, now that a call of it has shown its batch and its dtype."""
        self.pending.discard(number)
        self._records[number] |= describe_call(arguments, result)
        self._recorder.json(Record.LAYER, self._records[number])

    def varies(self, number: int) -> None:
        """Record that a later call got another shape."""
        self.shapes[number] = VARIES
        self._records[number]["varies"] = True
        if number not in self.pending:
            self._recorder.json(Record.LAYER, self._records[number])

    def write_pending(self) -> None:
        """Record the layers of which no call has returned, by what is known of them."""
        for number in list(self.pending):
            self._recorder.json(Record.LAYER, self._records[number])
        self.pending.clear()

    def _number(self, module: torch.nn.Module, outermost: bool) -> int:
        if outermost and id(module) not in self._paths:
            self._walk(module)
        root, path = self._paths.get(id(module), (0, f"({type(module).__name__})"))
        described = {"root": root, "path": path, **describe(module)}
        # Modules that are made anew in each step are one layer.
        key = tuple(described.values())
        number = self._known.get(key, OTHERS)
        if number == OTHERS and len(self._known) < MOST_LAYERS:
            number = self._known[key] = OTHERS + 1 + len(self._known)
            self._records[number] = {"id": number, **described, "input": "", "dtype": "", "varies": False}
            self.pending.add(number)
        return number

    def _walk(self, root: torch.nn.Module) -> None:
        """Learn the paths of a tree that is called at its top."""
        number = self._root_number(root)
        for count, (name, module) in enumerate(root.named_modules()):
            if count == MOST_MODULES:
                return
            parts = [part for part in name.split(".") if part and part not in WRAPPING]
            if parts[:1] == ["module"] and type(root).__name__ in WRAPPERS:
                parts.pop(0)
            self._paths[id(module)] = (number, ".".join(parts) or type(module).__name__)
            self._remember(module)

    def _root_number(self, root: torch.nn.Module) -> int:
        """From 1. A tree takes the place of one of its class that is gone: losses are often made in each
        step."""
        reference = weakref.ref(root)
        for position, (kind, held) in enumerate(self._roots):
            if kind is type(root) and held() is None:
                self._roots[position] = (kind, reference)
                return position + 1
        self._roots.append((type(root), reference))
        return len(self._roots)

    def _remember(self, module: torch.nn.Module) -> None:
        """Forget an identity with its module: another may be given it."""
        identity = id(module)
        if identity not in self._references:
            self._references[identity] = weakref.ref(module, lambda _: self._forget(identity))

    def _forget(self, identity: int) -> None:
        self.numbers.pop(identity, None)
        self._paths.pop(identity, None)
        self._references.pop(identity, None)

    def fail(self, error: Exception) -> None:
        if not self._failed:
            self._failed = True
            reason = f"{type(error).__name__}: {error}"
            self._recorder.note(INFO, "layers-lost", f"some layers have no name: {reason}")
