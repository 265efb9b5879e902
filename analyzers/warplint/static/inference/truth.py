"""Whether a condition could ask a tensor for its truth, by its form alone.

Most conditions ask for flags, sizes and settings; telling so here spares evaluating the functions around.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from warplint.static.annotations import annotated
from warplint.static.parsing.blocks import FunctionOutline
from warplint.static.parsing.tree import last_name, with_defaults
from warplint.static.tables import conditions, frequency, naming
from warplint.static.values import Kind

IsComputed = Callable[[str], bool]


def may_be_tensor(node: ast.expr, function: FunctionOutline | None, is_computed: IsComputed) -> bool:
    """Whether an expression in a function may be a tensor.

    ``is_computed`` says whether some class of the file sets an attribute to more than a setting.
    """
    if isinstance(node, ast.Compare):
        return _may_compare_tensors(node, function, is_computed)
    if isinstance(node, ast.BinOp):
        return any(may_be_tensor(part, function, is_computed) for part in (node.left, node.right))
    if isinstance(node, ast.Name):
        return not naming.SIZE.fullmatch(node.id) and not (function and _is_setting(node.id, function))
    if isinstance(node, ast.Attribute):
        return _may_be_tensor_attribute(node, function, is_computed)
    if isinstance(node, ast.Call):
        return last_name(node) not in conditions.NEVER
    if isinstance(node, ast.Subscript | ast.UnaryOp):
        inner = node.value if isinstance(node, ast.Subscript) else node.operand
        return may_be_tensor(inner, function, is_computed)
    return not isinstance(node, _NEVER)


def may_index(node: ast.expr, function: FunctionOutline | None, is_computed: IsComputed) -> bool:
    """Whether an index, or a part of it, may be a tensor or is a list."""
    if isinstance(node, ast.Tuple):
        return any(may_index(part, function, is_computed) for part in node.elts)
    if isinstance(node, ast.Slice):
        bounds = (node.lower, node.upper)
        return any(bound is not None and may_index(bound, function, is_computed) for bound in bounds)
    if isinstance(node, ast.List):
        return True
    if isinstance(node, ast.Compare):
        # Nobody indexes with a Python boolean: what a comparison picks with is a mask.
        return not any(isinstance(operator, _NO_COMPARISONS) for operator in node.ops)
    if isinstance(node, ast.Name) and frequency.COUNTER.fullmatch(node.id):
        return False
    return may_be_tensor(node, function, is_computed)


def _may_compare_tensors(
    node: ast.Compare, function: FunctionOutline | None, is_computed: IsComputed
) -> bool:
    parts = [node.left, *node.comparators]
    if any(isinstance(operator, _NO_COMPARISONS) for operator in node.ops):
        return False
    if any(_is_plain(part, function) for part in parts):
        return False
    return any(may_be_tensor(part, function, is_computed) for part in parts)


# ``in`` asks a container nearly always; of a tensor it waits, but nobody writes that.
_NO_COMPARISONS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_NEVER = (ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr, ast.Lambda)


def _may_be_tensor_attribute(
    node: ast.Attribute, function: FunctionOutline | None, is_computed: IsComputed
) -> bool:
    if node.attr in conditions.FLAGS | conditions.PROPERTIES:
        return False
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        return is_computed(node.attr)
    if naming.SETTINGS.fullmatch(last_name(node.value)):
        return False
    return may_be_tensor(node.value, function, is_computed)


def _is_element(name: str, function: FunctionOutline) -> bool:
    """Whether a loop takes a name from something that does not count: it may go over a tensor."""
    for loop in function.loops:
        node = loop.node
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name:
            return not isinstance(node.iter, ast.Call) or last_name(node.iter) not in frequency.COUNTING
    return False


def _is_setting(name: str, function: FunctionOutline) -> bool:
    """Whether a name is a flag, number or text: by its name, or as a parameter by default or annotation."""
    if name in function.assigned:
        return False
    if naming.FLAG.fullmatch(name):
        return True
    for argument, default in with_defaults(function.node.args):
        if argument.arg == name:
            if isinstance(default, ast.Constant) and default.value is not None:
                return True
            return annotated(argument.annotation).kind in (Kind.NUMBER, Kind.STRING)
    return False


def _is_plain(node: ast.expr, function: FunctionOutline | None) -> bool:
    """What is compared with a length, a size, a counter, a text or None is no tensor."""
    if isinstance(node, ast.Name):
        is_counter = frequency.COUNTER.fullmatch(node.id) is not None
        return is_counter and not (function and _is_element(node.id, function))
    if isinstance(node, ast.Call):
        return last_name(node) in conditions.SIZES
    if isinstance(node, ast.Attribute):
        return node.attr in conditions.PROPERTIES
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, bool | str | bytes)
    return isinstance(node, ast.Tuple | ast.List | ast.Dict)
