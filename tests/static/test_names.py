"""Which import a name stands for."""

from __future__ import annotations

import pytest
from marks import look

NAMES = {
    "import": ("import torch\n«torch.arange»", "torch.arange"),
    "import as": ("import torch as t\n«t.arange»", "torch.arange"),
    "from": ("from torch import arange\n«arange»", "torch.arange"),
    "from as": ("from torch import arange as ar\n«ar»", "torch.arange"),
    "a submodule": ("import torch.nn.functional\n«torch.nn.functional.relu»", "torch.nn.functional.relu"),
    "a submodule as": ("import torch.nn.functional as F\n«F.relu»", "torch.nn.functional.relu"),
    "from a submodule": ("from torch.nn import functional as F\n«F.relu»", "torch.nn.functional.relu"),
    "a longer path": (
        "from torch.utils.data.dataloader import DataLoader\n«DataLoader»",
        "torch.utils.data.DataLoader",
    ),
    "a longer path, written out": (
        "import torch\n«torch.utils.data.dataloader.DataLoader»",
        "torch.utils.data.DataLoader",
    ),
    "a relative import": ("from .torch import arange\n«arange»", ".torch.arange"),
    "from the package": ("from . import arange\n«arange»", ".arange"),
    "not imported": ("«torch.arange»", None),
    "an attribute of a call": ("import torch\n«torch.ones(3).sum»", None),
    "assigned": ("import torch\ntorch = 3\n«torch.arange»", None),
    "a fallback": (
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n«torch.arange»",
        "torch.arange",
    ),
    "two ways": ("try:\n    from torch import a\nexcept ImportError:\n    from old import a\n«a»", "torch.a"),
    "defined as well": ("from torch import a\ndef a():\n    pass\n«a»", None),
    "in a function": ("def f():\n    import torch as t\n    return «t.arange»", "torch.arange"),
    "not outside the function": ("def f():\n    import torch as t\n«t.arange»", None),
    "in the function around": (
        "def f():\n    import torch as t\n    def g():\n        return «t.arange»",
        "torch.arange",
    ),
    "a parameter": ("import torch as t\ndef f(t):\n    return «t.arange»", None),
    "another function's parameter": (
        "import torch as t\ndef g(t):\n    pass\ndef f():\n    return «t.arange»",
        "torch.arange",
    ),
    "a parameter's default": ("import torch as t\ndef f(t=«t.arange»):\n    pass", "torch.arange"),
    "a local variable": ("import torch as t\ndef f():\n    t = 3\n    return «t.arange»", None),
    "a global variable": ("import torch as t\ndef f():\n    global t\n    return «t.arange»", "torch.arange"),
    "a loop variable": ("import torch as t\ndef f():\n    for t in x:\n        «t.arange»", None),
    "a name in with": ("import torch as t\ndef f():\n    with x as (t, u):\n        «t.arange»", None),
    "a handler's name": (
        "import torch as t\ndef f():\n    try:\n        x\n    except E as t:\n        «t.arange»",
        None,
    ),
    "a walrus": ("import torch as t\ndef f():\n    (t := 3)\n    «t.arange»", None),
    "a case": ("import torch as t\ndef f(x):\n    match x:\n        case [t]:\n            «t.arange»", None),
    "a comprehension": ("import torch as t\n[«t.arange» for t in x]", None),
    "beside a comprehension": ("import torch as t\n[t for t in x]\n«t.arange»", "torch.arange"),
    "in a function, beside a comprehension": (
        "import torch as t\ndef f():\n    [t for t in x]\n    return «t.arange»",
        "torch.arange",
    ),
    "a lambda's parameter": ("import torch as t\nlambda t: «t.arange»", None),
    "a class's own name": (
        "import torch as t\nclass A:\n    t = 3\n    def f(self):\n        «t.arange»",
        "torch.arange",
    ),
    "under a condition": ("if x:\n    import torch\n«torch.arange»", "torch.arange"),
    "after use": ("def f():\n    return «torch.arange»\nimport torch", "torch.arange"),
}


@pytest.mark.parametrize(("marked", "expected"), NAMES.values(), ids=NAMES)
def test_what_a_name_stands_for(marked: str, expected: str | None) -> None:
    facts, node = look(marked, header="")
    assert facts.qualified(node) == expected


BUILTINS = {
    "plain": ("«float»(x)", True),
    "bound in the module": ("float = 3\n«float»(x)", False),
    "a parameter": ("def f(float):\n    «float»(x)", False),
    "another function's parameter": ("def g(float):\n    pass\ndef f():\n    «float»(x)", True),
    "imported": ("from x import float\n«float»(x)", False),
    "no such name": ("«flout»(x)", False),
}


@pytest.mark.parametrize(("marked", "expected"), BUILTINS.values(), ids=BUILTINS)
def test_whether_a_name_is_pythons_own(marked: str, expected: bool) -> None:
    facts, node = look(marked, header="")
    assert facts.is_builtin(node) is expected  # type: ignore[arg-type]
