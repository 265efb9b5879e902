"""Walking ast trees faster than ``ast.walk``: only the fields that hold nodes worth visiting."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

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


Parts = Callable[[ast.AST], "tuple[Any, ...]"]


class _PartsByKind(dict[type[object], "Parts | None"]):
    def __missing__(self, kind: type[object]) -> Parts | None:
        fields = child_fields(kind)
        self[kind] = made = None if not fields else _parts_of(fields)
        return made


def _parts_of(fields: tuple[str, ...]) -> Parts:
    get = attrgetter(*fields)
    return get if len(fields) > 1 else lambda node: (get(node),)


PARTS: dict[type[object], Parts | None] = _PartsByKind({ast.Name: None, type(None): None})
"""For each node class what gives the values of those fields: nodes, lists with nodes and None in them, None.

None for what has no such fields, names and None itself among them.
"""


def below(root: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is below it, in no order to rely on: all of ``ast.walk`` but operators, contexts
    and what is no node."""
    nodes = [root]
    for node in nodes:
        parts = PARTS[type(node)]
        if parts is not None:
            for value in parts(node):
                if type(value) is list:
                    nodes += value
                elif value is not None:
                    nodes.append(value)
            yield node
        elif node is not None:
            yield node


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly below a node, in the order of its fields."""
    parts = PARTS[type(node)]
    for value in parts(node) if parts is not None else ():
        if type(value) is list:
            for item in value:
                if item is not None:
                    yield item
        elif value is not None:
            yield value


def parents_of(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """Each node's parent below ``tree``."""
    parents: dict[ast.AST, ast.AST] = {}
    nodes: list[Any] = [tree]
    for node in nodes:
        parts = PARTS[type(node)]
        if parts is None:
            continue
        for value in parts(node):
            if type(value) is list:
                nodes += value
                for child in value:
                    parents[child] = node
            elif value is not None:
                parents[value] = node
                if type(value) is not ast.Name:
                    nodes.append(value)
    parents.pop(None, None)  # type: ignore[call-overload]
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
    if type(node) is ast.Name:
        return node.id
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def has_decorator(node: FunctionNode, *names: str) -> bool:
    """Whether a function has a decorator of one of these names."""
    return any(last_name(decorator) in names for decorator in node.decorator_list)


def last_name(node: ast.AST) -> str:
    """The last name of what an expression names: ``tqdm`` for ``tqdm.tqdm``, its call and its items."""
    while True:
        kind = type(node)
        if kind is ast.Name:
            return node.id  # type: ignore[attr-defined,no-any-return]
        if kind is ast.Attribute:
            return node.attr  # type: ignore[attr-defined,no-any-return]
        if kind is ast.Call:
            node = node.func  # type: ignore[attr-defined]
        elif kind is ast.Subscript:
            node = node.value  # type: ignore[attr-defined]
        else:
            return ""


def with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Each named parameter with its default."""
    plain = [*arguments.posonlyargs, *arguments.args]
    missing = len(plain) - len(arguments.defaults)
    for index, argument in enumerate(plain):
        yield argument, arguments.defaults[index - missing] if index >= missing else None
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def calls_assigned(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """The last name of each target with the call assigned to it: of ``Net().train()`` that of ``Net``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            targets = [node.target]
        else:
            continue
        call = node.value
        while (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Call)
        ):
            call = call.func.value
        if isinstance(call, ast.Call):
            yield from ((last_name(each), call) for target in targets for each in elements(target))


def elements(target: ast.expr) -> Iterator[ast.expr]:
    """What a target binds, without the tuples and lists around."""
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from elements(part)
    elif isinstance(target, ast.Starred):
        yield from elements(target.value)
    else:
        yield target
