"""Functions are found by line, and stay where they are while something is half typed."""

from __future__ import annotations

import ast

import pytest

from warplint.source.functions import Function, functions_of_broken, functions_of_tree, innermost

TEXT = """\
import torch


@torch.no_grad()
@torch.compile
def evaluate(
    model,
    data,
):
    total = 0

    def add(x):
        nonlocal total
        total += x

# a comment that is indented less
    for x in data:
        add(x)
    return total


class Net:
\tasync def forward(self, x):
\t\tmatch x:
\t\t\tcase 0:
\t\t\t\tdef zero(): return 0


def last(): ...

total = 1
"""
LINES = TEXT.split("\n")


def at(line: str) -> int:
    return LINES.index(line) + 1


FUNCTIONS = [
    Function("evaluate", at("def evaluate("), at("@torch.no_grad()"), at("    return total")),
    Function("add", at("    def add(x):"), at("    def add(x):"), at("        total += x")),
    Function(
        "forward",
        at("\tasync def forward(self, x):"),
        at("\tasync def forward(self, x):"),
        at("\t\t\t\tdef zero(): return 0"),
    ),
    Function("zero", *[at("\t\t\t\tdef zero(): return 0")] * 3),
    Function("last", *[at("def last(): ...")] * 3),
]


def from_tree(text: str, before: int = 0) -> list[Function]:
    return sorted(functions_of_tree(ast.parse(text), before), key=lambda function: function.line)


def test_functions_have_their_lines_decorators_included() -> None:
    assert from_tree(TEXT) == FUNCTIONS


def test_lines_above_a_piece_count() -> None:
    assert [function.line for function in from_tree(TEXT, 100)] == [it.line + 100 for it in FUNCTIONS]
    assert list(functions_of_broken(TEXT, 100)) == from_tree(TEXT, 100)


def test_indentation_says_what_the_tree_does() -> None:
    assert list(functions_of_broken(TEXT)) == FUNCTIONS
    assert list(functions_of_broken(TEXT.replace("\n", "\r\n"))) == FUNCTIONS


HALF_TYPED = {
    "an open bracket": ("        total += x", "        total += x("),
    "an attribute": ("        add(x)", "        add(x."),
    "an open string": ("        add(x)", "        add('x)"),
    "an open block": ("        total += x", "        if total:"),
    "an open long string": ("    total = 0", '    """'),
    "a signature": ("\tasync def forward(self, x):", "\tasync def forward(self, x"),
    "a decorator": ("@torch.compile", "@torch."),
}


@pytest.mark.parametrize(("line", "typed"), HALF_TYPED.values(), ids=HALF_TYPED)
def test_nothing_jumps_while_a_line_is_half_typed(line: str, typed: str) -> None:
    text = TEXT.replace(line, typed)
    with pytest.raises(SyntaxError):
        ast.parse(text)
    assert list(functions_of_broken(text)) == FUNCTIONS


def test_a_line_belongs_to_the_innermost_function_around_it() -> None:
    owners = innermost(from_tree(TEXT))
    named = {line: owners[number].name for number, line in enumerate(LINES, 1) if number in owners}
    assert named["@torch.no_grad()"] == "evaluate"
    assert named["    total = 0"] == "evaluate"
    assert named["        total += x"] == "add"
    assert named["        add(x)"] == "evaluate"
    assert named["\t\t\tcase 0:"] == "forward"
    assert named["\t\t\t\tdef zero(): return 0"] == "zero"
    assert "class Net:" not in named
    assert "total = 1" not in named
