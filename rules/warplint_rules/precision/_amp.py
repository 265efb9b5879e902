"""The two families of names for mixed precision, and calls that hand one of them the other's arguments."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.values import Kind
from warplint_rules._calls import has_unpacking, keyword

OLD = "torch.cuda.amp."
OLD_AUTOCAST = (f"{OLD}autocast", f"{OLD}autocast_mode.autocast")
OLD_SCALER = (f"{OLD}GradScaler", f"{OLD}grad_scaler.GradScaler")
NEW_AUTOCAST = ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
NEW_SCALER = ("torch.GradScaler", "torch.amp.GradScaler")

_DEVICE = ("device", "device_type")


def misuse(call: ast.Call, facts: Facts) -> str | None:
    """Why a call of ``autocast`` or ``GradScaler`` cannot work with what it is handed; None if it can."""
    if has_unpacking(call):
        return None
    name = facts.qualified(call.func)
    if name in OLD_AUTOCAST or name in OLD_SCALER:
        return _of_old(call, name in OLD_SCALER, facts)
    if name in NEW_AUTOCAST:
        return _of_new(call, facts)
    if name in NEW_SCALER and keyword(call, "device_type") is not None:
        return "has no parameter `device_type`: it raises a TypeError"
    return None


def _of_old(call: ast.Call, scales: bool, facts: Facts) -> str | None:
    given = next((word.arg for word in call.keywords if word.arg in _DEVICE), None)
    if given is not None:
        return f"has no parameter `{given}`: it raises a TypeError"
    if scales and call.args and facts.value(call.args[0]).kind in (Kind.STRING, Kind.DEVICE):
        return "takes the first scale, not the device: it fails when it first scales a loss"
    return None


def _of_new(call: ast.Call, facts: Facts) -> str | None:
    if keyword(call, "device") is not None:
        return "has no parameter `device`: it raises a TypeError"
    device = call.args[0] if call.args else keyword(call, "device_type")
    if device is None:
        return "needs `device_type`: it raises a TypeError"
    is_literal = isinstance(device, ast.Constant) and not isinstance(device.value, str)
    if is_literal or facts.value(device).kind is Kind.DTYPE:
        return "takes the device type first: it raises a ValueError"
    made = facts.value(device).origin or device
    if isinstance(made, ast.Call) and facts.qualified(made.func) == "torch.device":
        return "takes the type of a device, not the device: it raises an error"
    return None
