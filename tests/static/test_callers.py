"""Which calls run the function around a place."""

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
