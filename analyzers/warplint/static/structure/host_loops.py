"""Functions that go over a loader's batches without ever handing one to the GPU: figures of a data set.

A loader gives tensors on the host. They stay there unless the function moves them, runs a model, or hands a
whole batch, or itself, to what may do so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.parsing.blocks import CallSite, FunctionOutline
from warplint.static.parsing.tree import with_defaults
from warplint.static.structure.loops import iterates_loader
from warplint.static.tables import frequency, naming
from warplint.static.tables.words import words

_TO_THE_GPU = words(
    """
    autocast backward cuda enable_grad eval inference_mode move no_grad prepare set_grad_enabled step to
    to_device train zero_grad
    """
)
"""What is called where tensors go to the GPU, or where a model trains or is run."""


def stays_on_host(function: FunctionOutline) -> bool:
    """Whether all loops of a function over batches work on the host, as far as it shows."""
    batches = [loop.node for loop in function.loops if iterates_loader(loop.node)]
    if not batches or function.class_ is not None or _is_told_a_device(function):
        return False
    taken = {name for loop in batches for name in _whole(loop)}
    return not any(_may_leave(site, taken) for site in function.calls)


def _is_told_a_device(function: FunctionOutline) -> bool:
    return any(naming.DEVICE_NAME.fullmatch(taker.arg) for taker, _ in with_defaults(function.node.args))


def _whole(loop: ast.AST) -> Iterator[str]:
    """The name of a batch, where a loop takes it as one."""
    if not isinstance(loop, ast.For | ast.AsyncFor):
        return
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple | ast.List) else [loop.target]
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _may_leave(site: CallSite, taken: set[str]) -> bool:
    if site.handed_over:
        return site.name in taken or frequency.MODEL.fullmatch(site.name) is not None
    runs_model = site.base in {"", "self"} and frequency.MODEL.fullmatch(site.name) is not None
    on_model = site.base is not None and frequency.MODEL.fullmatch(site.base) is not None
    return site.name in _TO_THE_GPU or site.base == "self" or runs_model or on_model
