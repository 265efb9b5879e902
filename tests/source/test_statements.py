"""Which lines belong to which statement."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

import pytest

from warplint.source.statements import statement_heads

CASES = {
    "a call over lines": ("f(\n  1,\n  2,\n)\n", {2: 1, 3: 1, 4: 1}),
    "one line": ("x = 1\ny = 2\n", {}),
    "the header of an if": ("if (a and\n    b):\n    c\n", {2: 1}),
    "a body on the header's line": ("if a: f(\n  1)\n", {2: 1}),
    "comments between header and body": ("for x in y:\n    # why\n\n    z\n", {}),
    "parameters with defaults": ("def f(\n    a,\n    b=g(),\n):\n    return a\n", {2: 1, 3: 1}),
    "a decorator over lines": ("@d(\n    1,\n)\ndef f():\n    pass\n", {2: 1, 3: 1}),
    "a with of several items": ("with (\n    a as b,\n    c as d,\n):\n    e\n", {2: 1, 3: 1}),
    "an except clause": ("try:\n    a\nexcept (\n    B,\n    C,\n):\n    d\n", {4: 3, 5: 3, 6: 3}),
    "a match and its cases": (
        "match f(\n    x\n):\n    case Point(\n        x=1\n    ) if y:\n        g(\n            1)\n",
        {2: 1, 3: 1, 5: 4, 6: 4, 8: 7},
    ),
    "a string over lines": ("x = '''\na\n'''\n", {2: 1, 3: 1}),
    "a lambda over lines": ("k = sorted(x, key=lambda y:\n    y)\n", {2: 1}),
}


@pytest.mark.parametrize(("source", "heads"), CASES.values(), ids=CASES)
def test_heads(source: str, heads: dict[int, int]) -> None:
    assert statement_heads(ast.parse(source)) == heads


def test_every_line_python_runs_has_the_statement_it_runs_for() -> None:
    source = inspect.cleandoc(
        """
        def g(*a):
            return a[0]
        def f(x):
            match g(
                x,
                1,
            ):
                case int(
                    1 | 2
                ) if g(
                    x
                ):
                    y = g(
                        x,
                        g(3))
                    return y
                case _:
                    return g(
                        0)
        """
    )
    heads = statement_heads(ast.parse(source))
    shown = {heads.get(line, line) for line in _lines_run(source)}
    assert shown == {2, 4, 8, 13, 16}


def _lines_run(source: str) -> set[int]:
    lines: set[int] = set()
    scope: dict[str, Any] = {}
    code = compile(source, "traced.py", "exec")
    exec(code, scope)

    def trace(frame: Any, event: str, argument: object) -> Callable[..., Any] | None:
        frame_code: CodeType = frame.f_code
        if frame_code.co_filename != "traced.py":
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        scope["f"](1)
    finally:
        sys.settrace(None)
    return lines
