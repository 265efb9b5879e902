"""Data loaders as several rules ask for them: where one is made, how it is set, what comes out of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.parsing.tree import below, last_name
from warplint.static.tables import frequency, torch_functions, torch_methods
from warplint.static.values import Kind

POSITIONS = (
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn",
    "pin_memory", "drop_last", "timeout", "worker_init_fn",
)  # fmt: skip
"""The parameters of ``DataLoader`` that may be given without their name, in order."""

CALLS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")

_HANDING_ON = frequency.WRAPPERS | {"iter", "next", "reversed", "list", "tuple"}
"""Functions whose result holds what they are handed, or hands out parts of it."""
_GPU = Pattern("cuda|gpu|accel", re.IGNORECASE)
"""What a condition mentions that asks whether there is a GPU."""
_MAX_STEPS = 12
"""Names and calls that are followed from a batch to its loader."""


def setting(loader: ast.Call, name: str, facts: Facts) -> list[ast.expr]:
    """What a loader's parameter may be given, by name, by position or in a dictionary that is unpacked."""
    for given in loader.keywords:
        if given.arg == name:
            return [given.value]
    if name in POSITIONS and POSITIONS.index(name) < len(loader.args):
        return [loader.args[POSITIONS.index(name)]]
    unpacked = [given.value for given in loader.keywords if given.arg is None]
    return [value for mapping in unpacked for value in _held(mapping, name, facts)]


def pins(loader: ast.Call, facts: Facts) -> bool:
    """Whether a loader is seen to pin its batches, at least where there is a GPU."""
    given = setting(loader, "pin_memory", facts)
    return bool(given) and all(_is_on(value) for value in given)


def _is_on(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return value.value is True
    return _GPU.search(ast.unparse(value)) is not None and not isinstance(value, ast.UnaryOp)


def _held(mapping: ast.expr, key: str, facts: Facts) -> Iterator[ast.expr]:
    """What a dictionary holds under a key, as far as it is written out."""
    if isinstance(mapping, ast.Dict):
        for name, value in zip(mapping.keys, mapping.values, strict=True):
            if name is None:
                yield from _held(value, key, facts)
            elif isinstance(name, ast.Constant) and name.value == key:
                yield value
    elif isinstance(mapping, ast.IfExp):
        yield from _held(mapping.body, key, facts)
        yield from _held(mapping.orelse, key, facts)
    elif isinstance(mapping, ast.Call) and last_name(mapping.func) == "dict":
        for given in mapping.keywords:
            if given.arg == key:
                yield given.value
            elif given.arg is None:
                yield from _held(given.value, key, facts)
    elif isinstance(mapping, ast.Name):
        made = facts.value(mapping).origin
        if made is not None and not isinstance(made, ast.Name):
            yield from _held(made, key, facts)
        yield from _added(mapping, key, facts)


def _added(mapping: ast.Name, key: str, facts: Facts) -> Iterator[ast.expr]:
    """What a function puts into one of its dictionaries: ``settings.update(more)``."""
    function = facts.function(mapping)
    for node in below(function.node) if function is not None else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "update"
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == mapping.id
        ):
            for more in node.args:
                if not (isinstance(more, ast.Name) and more.id == mapping.id):
                    yield from _held(more, key, facts)


def loaders_of(batch: ast.expr, facts: Facts) -> list[ast.Call]:
    """The calls that make the loaders a batch, a part of one or an iterator may come from.

    Empty where something is done to it on the way: what comes out of that is new memory.
    """
    waiting = [batch]
    found: list[ast.Call] = []
    for _ in range(_MAX_STEPS):
        if not waiting:
            break
        current = waiting.pop()
        if isinstance(current, ast.Call) and is_loader(current, facts):
            found.append(current)
            continue
        waiting.extend(_before(current, facts))
    return found


def is_loader(call: ast.Call, facts: Facts) -> bool:
    """Whether a call makes a ``DataLoader``, of PyTorch or of a library that derives from it."""
    name = facts.qualified(call.func)
    return name is not None and (name in torch_functions.LOADERS or name.endswith(".DataLoader"))


def _before(node: ast.expr, facts: Facts) -> list[ast.expr]:
    """What an expression hands on: what a loop iterates, the batch of a part, what a caller hands over."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in torch_methods.CONTAINER_METHODS:
            return [node.func.value]
        return node.args[:1] if last_name(node.func) in _HANDING_ON else []
    if isinstance(node, ast.Subscript):
        return [node.value] if isinstance(node.slice, ast.Constant | ast.Slice) else []
    if not isinstance(node, ast.Name | ast.Attribute):
        return []
    made = facts.value(node).origin
    if made is not None and made is not node:
        return [made]
    return _handed(node, facts) if isinstance(node, ast.Name) else []


def _handed(name: ast.Name, facts: Facts) -> list[ast.expr]:
    """What the callers in this file hand over as a parameter; of several, each."""
    function = facts.function(name)
    if function is None or isinstance(function.node, ast.Lambda):
        return []
    names = [argument.arg for argument in function.node.args.args]
    if name.id not in names:
        return []
    position = names.index(name.id) - (1 if function.class_name is not None else 0)
    found: list[ast.expr] = []
    for call in facts.calls_of(name):
        given = [word.value for word in call.keywords if word.arg == name.id]
        if not given and 0 <= position < len(call.args):
            given = [call.args[position]]
        found.extend(given)
    return found


def is_pinned(batch: ast.expr, facts: Facts) -> bool:
    """Whether a batch, or a part of one, lies in pinned memory, by all that is seen of its loaders."""
    value = facts.value(batch)
    if value.kind is Kind.TENSOR and value.pinned:
        return True
    if value.kind is Kind.SEQUENCE and value.element is not None and value.element.pinned:
        return True
    if value.kind not in (Kind.TENSOR, Kind.SEQUENCE, Kind.UNKNOWN):
        return False
    made = loaders_of(batch, facts)
    return bool(made) and all(pins(loader, facts) for loader in made)
