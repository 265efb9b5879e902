"""Which calls run the function around a place, and which function a call runs."""

from __future__ import annotations

import ast

import pytest
from marks import look

CALLS = {
    "a helper": ("def f():\n    «1»\nf()\nx = f()", ["f()", "f()"]),
    "a method": (
        "class C:\n    def f(self):\n        «1»\n    def g(self):\n        self.f()\nC().f()",
        ["self.f()", "C().f()"],
    ),
    "of a base": (
        "class B:\n    def f(self):\n        «1»\nclass C(B):\n    def g(self):\n        self.f()",
        ["self.f()"],
    ),
    "a nested function": ("def f():\n    def g():\n        «1»\n    g()\ng()", ["g()"]),
    "a function that is handed over as well": ("def f():\n    «1»\nf()\nmap(f, x)", []),
    "nobody": ("def f():\n    «1»", []),
    "the module": ("«1»", []),
    "a common method of something unknown": ("class C:\n    def update(self):\n        «1»\nx.update()", []),
}


@pytest.mark.parametrize(("marked", "expected"), CALLS.values(), ids=CALLS)
def test_the_calls_of_a_function(marked: str, expected: list[str]) -> None:
    facts, node = look(marked)
    assert [ast.unparse(call) for call in facts.calls_of(node)] == expected


CALLED = {
    "a function": ("def f():\n    pass\n«f()»", "f"),
    "a method": ("class C:\n    def f(self):\n        pass\n    def g(self):\n        «self.f()»", "f"),
    "an inherited method": (
        "class B:\n    def f(self):\n        pass\nclass C(B):\n    def g(self):\n        «self.f()»",
        "f",
    ),
    "a library's": ("«torch.zeros(3)»", None),
    "a class": ("class C:\n    pass\n«C()»", None),
    "something unknown": ("def g(f):\n    «f()»", None),
}


@pytest.mark.parametrize(("marked", "expected"), CALLED.values(), ids=CALLED)
def test_the_function_that_a_call_runs(marked: str, expected: str | None) -> None:
    facts, node = look(marked)
    assert isinstance(node, ast.Call)
    found = facts.called_function(node)
    assert (found.name if found is not None else None) == expected
