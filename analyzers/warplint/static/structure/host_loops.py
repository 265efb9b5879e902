"""Functions that go over a loader's batches without ever handing one to the GPU: figures of a data set.

A loader gives tensors on the host. They stay there unless the function moves them, runs a model, or hands a
whole batch, or itself, to what may do so; or part of one to a function that nothing is known of.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from warplint.static.parsing.blocks import CallSite, FunctionOutline
from warplint.static.parsing.tree import elements, with_defaults
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


def stays_on_host(function: FunctionOutline, is_familiar: Callable[[str], bool]) -> bool:
    """Whether all loops of a function over batches work on the host, as far as it shows.

    ``is_familiar`` tells whether a plain name is that of a function that is known to run no model.
    """
    batches = [loop.node for loop in function.loops if iterates_loader(loop.node)]
    if not batches or function.class_ is not None or _is_told_a_device(function):
        return False
    taken = {name for loop in batches for name in _whole(loop)}
    if any(_may_leave(site, taken) for site in function.calls):
        return False
    return not any(_takes_part(site, taken) and not is_familiar(site.name) for site in function.calls)


def _is_told_a_device(function: FunctionOutline) -> bool:
    return any(naming.DEVICE_NAME.fullmatch(taker.arg) for taker, _ in with_defaults(function.node.args))


def _whole(loop: ast.AST) -> Iterator[str]:
    """The names of a batch, or of its parts, as a loop takes them."""
    if isinstance(loop, ast.For | ast.AsyncFor):
        yield from (target.id for target in elements(loop.target) if isinstance(target, ast.Name))


def _may_leave(site: CallSite, taken: set[str]) -> bool:
    if site.handed_over:
        return site.name in taken or frequency.MODEL.fullmatch(site.name) is not None
    runs_model = site.base in {"", "self"} and frequency.MODEL.fullmatch(site.name) is not None
    on_model = site.base is not None and frequency.MODEL.fullmatch(site.base) is not None
    return site.name in _TO_THE_GPU or site.base == "self" or runs_model or on_model


def _takes_part(site: CallSite, taken: set[str]) -> bool:
    """Whether a plain function is handed something of a batch: ``net(batch.image)``, ``net(**batch)``."""
    if site.handed_over or site.base != "":
        return False
    given = (*site.node.args, *(word.value for word in site.node.keywords))
    return any(isinstance(part, ast.Name) and part.id in taken for each in given for part in ast.walk(each))
