"""Lines of source in sentences."""

from __future__ import annotations

import pytest

from warplint.source.quoted import quoted


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("        loss.item()  # read it", "loss.item()"),
        ("x = f(a,   b)", "x = f(a, b)"),
        ("# nothing", ""),
        ('tag = "#1"  # the first', 'tag = "#1"'),
        ("y = model(  # of two lines", "y = model("),
        ("    b)  # its end", "b)"),
        ("s = 'it is not closed", "s = 'it is not closed"),
        ("a" * 41, "a" * 39 + "…"),
        ("a" * 40 + "  # just as long as is quoted", "a" * 40),
    ],
)
def test_a_line_is_quoted_without_its_comment(line: str, said: str) -> None:
    assert quoted(line) == said
