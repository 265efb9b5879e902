"""An argument that is added to a call is laid out as its neighbours are."""

from __future__ import annotations

import libcst as cst
import pytest

from warplint_rules._calls import with_keyword

ADDED = [
    ("f()", "f(d=1)"),
    ("f(a)", "f(a, d=1)"),
    ("f(a, b=2)", "f(a, b=2, d=1)"),
    ("f(a,)", "f(a, d=1,)"),
    ("f(a,b)", "f(a,b, d=1)"),
    ("f(a, **more)", "f(a, **more, d=1)"),
    ("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    d=1,\n)"),
    ("f(\n    a\n)", "f(\n    a,\n    d=1\n)"),
    ("f(\n    a, b\n)", "f(\n    a, b, d=1\n)"),
    ("f(a,\n  b)", "f(a,\n  b,\n  d=1)"),
    ("f(a, \n  b)", "f(a, \n  b,\n  d=1)"),
    ("f(\n    a,  # first\n    b,  # second\n)", "f(\n    a,  # first\n    b,  # second\n    d=1,\n)"),
    ("f(\n    a,\n    b  # second\n)", "f(\n    a,\n    b,  # second\n    d=1\n)"),
    ("f(\n    a,\n\n    b,\n    # more to come\n)", "f(\n    a,\n\n    b,\n    d=1,\n    # more to come\n)"),
    ("f(a, b  # both\n)", "f(a, b, d=1  # both\n)"),
]


@pytest.mark.parametrize(("call", "expected"), [*ADDED, ("f(a, d=0, b=2)", "f(a, d=1, b=2)")])
def test_a_keyword_is_added_in_the_layout_of_the_call(call: str, expected: str) -> None:
    parsed = cst.parse_expression(call)
    assert isinstance(parsed, cst.Call)
    assert cst.Module([]).code_for_node(with_keyword(parsed, "d", cst.Integer("1"))) == expected
