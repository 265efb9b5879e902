"""The fixed examples of WL101 compute what the originals do, and do it on the device of their input.

The meta device stands for a GPU: it refuses operands from the CPU just as CUDA does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from warplint.static.rules.registry import CLOSE, OPEN
from warplint_rules.placement.host_tensor import HostTensorInHotCode

Inputs = Callable[[], tuple[torch.Tensor, ...]]

MODULES: dict[str, tuple[tuple[int, ...], Inputs]] = {
    "Decoder": ((10, 10, 4), lambda: (torch.arange(6).view(2, 3),)),
    "Ramp": ((), lambda: (torch.ones(2, 3),)),
    "Rotary": ((), lambda: (torch.ones(2, 3, 4),)),
    "Mask": ((), lambda: (torch.ones(2, 3, dtype=torch.float64),)),
    "Ratio": ((), lambda: (torch.ones(3), torch.zeros(3))),
    "Frequencies": ((), lambda: (torch.ones(5),)),
    "Prefix": ((), lambda: (torch.ones(2, 6, 4),)),
    "Clear": ((), lambda: (torch.ones(2, 3),)),
    "Angles": ((), lambda: (torch.ones(2, 3),)),
}


def example(name: str) -> tuple[str, str]:
    """The original and the fixed source of the example that defines a module."""
    for shown in HostTensorInHotCode.fires:
        if shown.fixed is not None and f"class {name}(" in shown.source:
            return shown.source.replace(OPEN, "").replace(CLOSE, ""), shown.fixed
    raise LookupError(name)


def module(source: str, name: str) -> torch.nn.Module:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    torch.manual_seed(0)
    made: torch.nn.Module = namespace[name](*MODULES[name][0])
    return made


@pytest.mark.parametrize("name", MODULES)
def test_the_fix_changes_no_value(name: str) -> None:
    original, fixed = (module(source, name)(*MODULES[name][1]()) for source in example(name))
    assert original.dtype == fixed.dtype
    assert torch.equal(original, fixed)


@pytest.mark.parametrize("name", MODULES)
def test_the_fixed_module_runs_where_its_input_is(name: str) -> None:
    inputs = [tensor.to("meta") for tensor in MODULES[name][1]()]
    result = module(example(name)[1], name).to("meta")(*inputs)
    assert result.device.type == "meta"


def test_what_is_said_to_raise_raises() -> None:
    with pytest.raises(RuntimeError, match="device"):
        module(example("Ramp")[0], "Ramp")(torch.ones(2, 3, device="meta"))
