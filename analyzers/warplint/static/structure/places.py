"""Tests that say on which device the tensors of a branch are."""

from __future__ import annotations

import ast
from collections.abc import Iterable

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


def _device(node: ast.expr) -> ast.expr:
    """The device whose type or name an expression is: that of ``x.device.type`` and ``str(x.device)``."""
    if isinstance(node, ast.Call) and last_name(node.func) == "str" and len(node.args) == 1:
        node = node.args[0]
    return node.value if isinstance(node, ast.Attribute) and node.attr == "type" else node


def _is_device(node: ast.expr) -> bool:
    """Whether an expression names the device at hand: ``x.device.type``, ``str(device)``."""
    node = _device(node)
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


def leaves_cpu(test: ast.expr, body: Iterable[ast.stmt]) -> bool:
    """Whether a branch moves on what its test found on the CPU: ``if not x.is_cuda: x = x.cuda()``.

    Where a tensor is says nothing of the machine. The device that a program works on does.
    """
    asked = _device(test.left) if isinstance(test, ast.Compare) else test
    if not isinstance(asked, ast.Attribute):
        return False
    calls = [node for part in body for node in below(part) if isinstance(node, ast.Call)]
    return any(_moves(call, asked.value) for call in calls)


def _moves(call: ast.Call, tensor: ast.expr) -> bool:
    """Whether a call moves tensors to where ``tensor`` is not, by a method or a helper."""
    name = last_name(call.func)
    if name == "to":
        named = [word.value for word in call.keywords if word.arg == "device"]
        return any(_is_elsewhere(target, tensor) for target in [*call.args[:1], *named])
    if conditions.MOVES.fullmatch(name):
        return True
    given = [*call.args, *(word.value for word in call.keywords)]
    names = {node.id for node in below(tensor) if isinstance(node, ast.Name)}
    is_handed = any(isinstance(value, ast.Name) and value.id in names for value in given)
    devices = [value for value in given if last_name(value) in conditions.DEVICES]
    return is_handed and any(_is_elsewhere(device, tensor) for device in devices)


def _is_elsewhere(target: ast.expr, tensor: ast.expr) -> bool:
    """Whether a target of ``.to(…)`` may be another device than that of a tensor on the CPU."""
    if isinstance(target, ast.Call) and last_name(target.func) == "device" and target.args:
        target = target.args[0]
    if isinstance(target, ast.Constant):
        return not isinstance(target.value, str) or target.value.startswith("cuda")
    if last_name(target).endswith("dtype") or (dotted(target) or "").startswith("torch."):
        return False
    own = ast.unparse(tensor)
    return ast.unparse(target) not in (own, f"{own}.device")
