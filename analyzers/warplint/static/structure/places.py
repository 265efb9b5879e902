"""Tests that say on which device the tensors of a branch are."""

from __future__ import annotations

import ast

from warplint.static.parsing.tree import below, dotted, last_name
from warplint.static.tables import conditions


def is_on_cpu(test: ast.expr, truth: bool) -> bool:
    """Whether a test, true or not, holds only where tensors are on the CPU: ``not x.is_cuda``."""
    if isinstance(test, ast.Attribute):
        is_asked = test.attr in (conditions.ELSEWHERE if truth else conditions.ON_GPU)
        return is_asked and not _is_beside(test.value)
    if isinstance(test, ast.Call):
        return not truth and (dotted(test.func) or "").endswith("cuda.is_available")
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_device(test.left):
        return False
    named = _devices(test.comparators[0])
    if isinstance(test.ops[0], ast.Eq | ast.Is | ast.In):
        is_one_of = truth
    elif isinstance(test.ops[0], ast.NotEq | ast.IsNot | ast.NotIn):
        is_one_of = not truth
    else:
        return False
    if is_one_of:
        return bool(named) and named <= conditions.NO_GPUS
    # What is not `torch.device("cuda")` may be the GPU too, which is `cuda:0` of a tensor.
    return "cuda" in named and _is_type(test.left)


def _is_device(node: ast.expr) -> bool:
    """Whether an expression names the device at hand: ``x.device.type``, ``str(device)``."""
    if isinstance(node, ast.Call) and last_name(node.func) == "str" and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ast.Attribute) and node.attr == "type":
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr in conditions.DEVICES and not _is_beside(node.value)
    return isinstance(node, ast.Name) and node.id in conditions.DEVICES


def _is_beside(owner: ast.expr) -> bool:
    """Whether names say that something is kept apart from what is computed: ``offload_config``."""
    named = [last_name(part) for part in below(owner) if isinstance(part, ast.Name | ast.Attribute)]
    return any(conditions.BESIDE.search(name) for name in named)


def _is_type(node: ast.expr) -> bool:
    """Whether an expression gives a device without its number: ``x.device.type``, ``device_type``."""
    return last_name(node) in conditions.DEVICE_TYPES


def _devices(node: ast.expr) -> set[str]:
    """The devices that are written out, one or several; empty where one of them is not."""
    if isinstance(node, ast.Call) and last_name(node.func) == "device" and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        each = [_devices(part) for part in node.elts]
        return set().union(*each) if all(each) else set()
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()
