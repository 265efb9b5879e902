"""Calls as several rules read and rewrite them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument, or None."""
    return next((given.value for given in call.keywords if given.arg == name), None)


def is_off(argument: ast.expr) -> bool:
    """Whether an argument is literally ``0``, ``False`` or ``None``."""
    return isinstance(argument, ast.Constant) and not argument.value


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
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    added = cst.Arg(value, keyword=cst.Name(name), equal=tight)
    if not arguments:
        return call.with_changes(args=[added])
    last = arguments[-1]
    added = added.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    gap = _gap(call)
    comma = cst.Comma(whitespace_after=gap)
    arguments[-1] = last.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*arguments, added])


def _gap(call: cst.Call) -> cst.BaseParenthesizableWhitespace:
    """What stands between two arguments of the call: a space, or a line break where each has its own line."""
    import libcst as cst

    if len(call.args) > 1 and isinstance(comma := call.args[-2].comma, cst.Comma):
        return comma.whitespace_after
    before = call.whitespace_before_args
    return before if isinstance(before, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")
