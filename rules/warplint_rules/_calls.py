"""Calls as several rules read and rewrite them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.inference.arguments import is_off

if TYPE_CHECKING:
    import libcst as cst


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument, or None."""
    return next((given.value for given in call.keywords if given.arg == name), None)


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """An argument by one of its names or its position; None where it is not given in the open."""
    for given in call.keywords:
        if given.arg in names:
            return given.value
    plain = call.args[: position + 1]
    if len(plain) <= position or any(isinstance(part, ast.Starred) for part in plain):
        return None
    return plain[position]


def is_set(call: ast.Call, name: str) -> bool:
    """Whether a keyword argument is given and not literally off."""
    given = keyword(call, name)
    return given is not None and not is_off(given)


def has_unpacking(call: ast.Call) -> bool:
    """Whether ``*args`` or ``**kwargs`` may hand over what is not written out."""
    return any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        given.arg is None for given in call.keywords
    )


def with_keyword(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """The call with a keyword argument set or added, laid out as the arguments before it are."""
    import libcst as cst

    arguments = list(call.args)
    for index, argument in enumerate(arguments):
        if argument.keyword is not None and argument.keyword.value == name:
            arguments[index] = argument.with_changes(value=value)
            return call.with_changes(args=arguments)
    none = cst.SimpleWhitespace("")
    added = cst.Arg(value, keyword=cst.Name(name), equal=cst.AssignEqual(none, none))
    if not arguments:
        return call.with_changes(args=[added])
    last = arguments[-1]
    has_comma = isinstance(last.comma, cst.Comma)
    end = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else last.whitespace_after_arg
    between = _gap(call)
    if isinstance(between, cst.ParenthesizedWhitespace) and isinstance(end, cst.ParenthesizedWhitespace):
        # A comment behind the last argument stays with it.
        between = between.with_changes(first_line=end.first_line)
        end = end.with_changes(first_line=cst.TrailingWhitespace())
    arguments[-1] = last.with_changes(comma=cst.Comma(whitespace_after=between), whitespace_after_arg=none)
    if has_comma:
        added = added.with_changes(comma=cst.Comma(whitespace_after=end))
    else:
        added = added.with_changes(whitespace_after_arg=end)
    return call.with_changes(args=[*arguments, added])


def _gap(call: cst.Call) -> cst.BaseParenthesizableWhitespace:
    """What stands between two arguments of the call: a space, or a line break where each has its own line."""
    import libcst as cst

    gap = call.whitespace_before_args
    if len(call.args) > 1 and isinstance(comma := call.args[-2].comma, cst.Comma):
        gap = comma.whitespace_after
    if isinstance(gap, cst.ParenthesizedWhitespace):
        return cst.ParenthesizedWhitespace(indent=gap.indent, last_line=gap.last_line)
    return cst.SimpleWhitespace(" ")
