"""Walking ast trees faster than ``ast.walk``: only the fields that hold nodes worth visiting."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from warplint.static.tables.words import words

# Fields that hold names, operators and constants, never a node with a place in the text.
_LEAF_FIELDS = words(
    """
    arg asname attr conversion ctx id is_async kind kwd_attrs level module name names op ops rest simple tag
    type_comment
    """
)


def _child_fields(node_class: type[object]) -> tuple[str, ...]:
    if node_class is ast.Constant or node_class is ast.MatchSingleton:
        return ()
    # Lists of nodes hold None where something is left out: the key of ``**more`` in a dictionary.
    return tuple(field for field in getattr(node_class, "_fields", ()) if field not in _LEAF_FIELDS)


_CHILD_FIELDS: dict[type[object], tuple[str, ...]] = {}


def child_fields(node_class: type[object]) -> tuple[str, ...]:
    """The fields of a node class that can hold nodes."""
    fields = _CHILD_FIELDS.get(node_class)
    if fields is None:
        fields = _CHILD_FIELDS[node_class] = _child_fields(node_class)
    return fields


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly below a node, in the order of its fields."""
    for field in child_fields(type(node)):
        value = getattr(node, field, None)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield item
        elif isinstance(value, ast.AST):
            yield value


def parents_of(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """Each node's parent below ``tree``."""
    parents: dict[ast.AST, ast.AST] = {}
    stack = [tree]
    while stack:
        node = stack.pop()
        for field in child_fields(type(node)):
            value = getattr(node, field, None)
            if value is None:
                continue
            for child in value if type(value) is list else (value,):
                if child is not None:
                    parents[child] = node
                    if type(child) is not ast.Name and type(child) is not ast.Constant:
                        stack.append(child)
    return parents


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
LoopNode = ast.For | ast.AsyncFor | ast.While


def walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below ``node`` that run with it: nested functions, lambdas and classes are not entered."""
    stack = list(children(node))
    while stack:
        inner = stack.pop()
        yield inner
        if not isinstance(inner, FunctionNode | ast.Lambda | ast.ClassDef):
            stack.extend(children(inner))


def dotted(node: ast.expr) -> str | None:
    """``self.net.weight`` for a chain of attributes on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def has_decorator(node: FunctionNode, *names: str) -> bool:
    """Whether a function has a decorator of one of these names."""
    return any(last_name(decorator) in names for decorator in node.decorator_list)


def last_name(node: ast.AST) -> str:
    """The last name of what an expression names: ``tqdm`` for ``tqdm.tqdm``, its call and its items."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
