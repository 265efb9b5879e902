"""Where a value goes within its function: through names and unpacking to each place that uses it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from warplint.static.inference.evaluate import Evaluator
from warplint.static.inference.use import Use, UseKind
from warplint.static.tables import torch_functions, torch_methods, waits
from warplint.static.tables.words import words
from warplint.static.values import UNKNOWN, Kind, Value

_STORING = words("add append extend insert register_buffer register_parameter setdefault")
"""Calls that put a value away instead of working with it."""
_LOOKING = torch_methods.SHAPED_LIKE | words("to type_as")
"""Methods that only look at the tensor they are handed."""
_METADATA = torch_methods.METADATA | torch_methods.SIZES | (torch_methods.NUMBERS - waits.METHODS)

Found = Iterator[Use]


class Uses:
    """Follows values in one evaluated unit."""

    def __init__(self, evaluated: Evaluator, parent: Callable[[ast.AST], ast.AST | None]) -> None:
        self._values = evaluated.values
        self._loads = evaluated.loads
        self._parent = parent

    def of(self, node: ast.expr) -> tuple[Use, ...]:
        """Each use of the expression's value, in the order of the text."""
        found: dict[tuple[UseKind, int], Use] = {}
        waiting: list[ast.expr] = [node]
        seen: set[ast.AST] = set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            waiting.extend(self._loads.get(current, ()))
            for use in self._at(current, waiting):
                found.setdefault((use.kind, id(use.node)), use)
        return tuple(sorted(found.values(), key=lambda use: _position(use.node)))

    def _value(self, node: ast.AST) -> Value:
        return self._values.get(node, UNKNOWN)

    def _at(self, node: ast.expr, waiting: list[ast.expr]) -> Found:
        """The uses of a value at the place where it stands; where it is only handed on, follow it there."""
        parent = self._parent(node)
        if isinstance(parent, ast.keyword):
            parent = self._parent(parent)
        at = _AT.get(type(parent))
        if at is not None:
            yield from at(self, node, parent)
        elif isinstance(parent, ast.NamedExpr | ast.Starred | ast.Await):
            if parent.value is node:
                waiting.append(parent)
        elif isinstance(parent, ast.IfExp):
            if node is parent.test:
                yield Use(UseKind.HOST, node)
            else:
                waiting.append(parent)
        elif isinstance(parent, ast.BoolOp):
            if node is not parent.values[-1]:
                yield Use(UseKind.HOST, node)
            waiting.append(parent)

    # Where a value can stand

    def _in_binary(self, node: ast.expr, parent: ast.BinOp) -> Found:
        yield self._beside(parent, parent.right if node is parent.left else parent.left)

    def _in_augmented(self, node: ast.expr, parent: ast.AugAssign) -> Found:
        yield self._beside(parent, parent.value if node is parent.target else parent.target)

    def _in_unary(self, node: ast.expr, parent: ast.UnaryOp) -> Found:
        yield Use(UseKind.HOST if isinstance(parent.op, ast.Not) else UseKind.OTHER, parent)

    def _in_slice(self, node: ast.expr, parent: ast.Slice) -> Found:
        subscript = self._parent(parent)
        if isinstance(subscript, ast.Subscript):
            yield Use(UseKind.INDEX, subscript, self._value(subscript.value))

    def _returned(self, node: ast.expr, parent: ast.AST) -> Found:
        yield Use(UseKind.RETURNED, parent)

    def _read(self, node: ast.expr, parent: ast.AST) -> Found:
        """A test, a field of an f-string, what a comprehension goes over."""
        yield Use(UseKind.HOST, node)

    def _iterated(self, node: ast.expr, parent: ast.AST) -> Found:
        yield Use(UseKind.HOST, parent)

    def _collected(self, node: ast.expr, parent: ast.AST) -> Found:
        yield Use(UseKind.STORED, parent)

    def _otherwise(self, node: ast.expr, parent: ast.AST) -> Found:
        yield Use(UseKind.OTHER, node)

    # Operands

    def _beside(self, operation: ast.BinOp | ast.AugAssign, other: ast.expr) -> Use:
        value = self._value(other)
        kind = UseKind.COMBINED if value.is_tensor else UseKind.OTHER
        return Use(kind, operation, value)

    def _in_comparison(self, node: ast.expr, comparison: ast.Compare) -> Found:
        others = [part for part in [comparison.left, *comparison.comparators] if part is not node]
        if all(isinstance(operator, ast.Is | ast.IsNot) for operator in comparison.ops):
            # Whether it is the same object says nothing of what it holds.
            return
        if any(isinstance(operator, ast.In | ast.NotIn) for operator in comparison.ops):
            yield Use(UseKind.HOST, comparison, self._value(others[0]))
        else:
            yield self._among(comparison, others)

    def _among(self, node: ast.AST, others: list[ast.expr]) -> Use:
        """An operand beside others: with a tensor it is combined, and one on the accelerator counts first."""
        values = [part for other in others for part in self._tensors(other)]
        ranked = sorted(values, key=lambda value: not value.on_accelerator)
        if ranked:
            return Use(UseKind.COMBINED, node, ranked[0])
        return Use(UseKind.OTHER, node, self._value(others[0]) if others else None)

    def _tensors(self, node: ast.expr) -> list[Value]:
        value = self._value(node)
        if value.is_tensor:
            return [value]
        if value.kind is Kind.SEQUENCE:
            return [
                part for part in value.elements or (value.element,) if part is not None and part.is_tensor
            ]
        return []

    def _in_attribute(self, node: ast.expr, attribute: ast.Attribute) -> Found:
        call = self._parent(attribute)
        name = attribute.attr
        if not isinstance(call, ast.Call) or call.func is not attribute:
            if isinstance(attribute.ctx, ast.Load) and name in torch_methods.VIEWS:
                yield Use(UseKind.OTHER, attribute)
        elif name in waits.METHODS:
            yield Use(UseKind.HOST, call)
        elif name in torch_methods.MOVES:
            yield self._moved(call, name)
        elif name in torch_methods.SHAPED_LIKE:
            yield Use(UseKind.OTHER, call)
        elif name not in _METADATA:
            yield self._among(call, [*call.args, *(keyword.value for keyword in call.keywords)])

    def _moved(self, call: ast.Call, name: str) -> Use:
        """A conversion of the element type only is no move."""
        if name == "cpu":
            return Use(UseKind.HOST, call)
        if name in {"to", "type"} and self._stays(call):
            return Use(UseKind.OTHER, call)
        targets = [self._value(argument) for argument in call.args]
        return Use(UseKind.MOVED, call, next((value for value in targets if value.is_tensor), None))

    def _stays(self, call: ast.Call) -> bool:
        assert isinstance(call.func, ast.Attribute)
        before, after = self._value(call.func.value), self._value(call)
        names_dtype = all(self._value(argument).kind is Kind.DTYPE for argument in call.args)
        named = {keyword.arg for keyword in call.keywords}
        return after.is_tensor and after.place is before.place and names_dtype and "device" not in named

    def _in_call(self, node: ast.expr, call: ast.Call) -> Found:
        if node is call.func:
            return
        called = self._value(call.func)
        others = [
            argument
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]
            if argument is not node and not isinstance(argument, ast.Starred)
        ]
        if called.kind is Kind.MODULE:
            yield Use(UseKind.COMBINED, call, self._met_by_module(call, called, others))
        elif called.qualified is not None and called.kind is Kind.UNKNOWN:
            yield self._of_imported(call, called.qualified, others)
        elif isinstance(call.func, ast.Attribute):
            yield self._of_method(call, call.func, others)
        elif isinstance(call.func, ast.Name) and called.kind is Kind.UNKNOWN:
            yield from self._of_builtin(call, call.func.id)
        else:
            yield Use(UseKind.PASSED, call)

    def _met_by_module(self, call: ast.Call, module: Value, others: list[ast.expr]) -> Value:
        """A module's parameters live where it runs: beside its input."""
        result = self._value(call)
        beside = self._among(call, others).other
        if beside is not None and beside.on_accelerator:
            return beside
        return module if not result.is_tensor else result

    def _of_imported(self, call: ast.Call, called: str, others: list[ast.expr]) -> Use:
        if called in torch_functions.PARAMETERS:
            return Use(UseKind.STORED, call)
        if called in waits.FUNCTIONS or called.startswith(torch_functions.HOST_NAMESPACES):
            return Use(UseKind.HOST, call)
        if called.startswith("torch.") and self._value(call).kind in (Kind.TENSOR, Kind.SEQUENCE):
            return self._among(call, others)
        return Use(UseKind.PASSED, call)

    def _of_method(self, call: ast.Call, function: ast.Attribute, others: list[ast.expr]) -> Use:
        receiver = self._value(function.value)
        if receiver.is_tensor:
            if function.attr in _LOOKING:
                return Use(UseKind.OTHER, function, receiver)
            return self._among(call, [function.value, *others])
        if function.attr in _STORING:
            return Use(UseKind.STORED, call)
        return Use(UseKind.PASSED, call)

    def _of_builtin(self, call: ast.Call, name: str) -> Found:
        if name in waits.BUILTINS | waits.ITERATING:
            yield Use(UseKind.HOST, call)
        elif name not in waits.FREE:
            yield Use(UseKind.PASSED, call)

    def _in_subscript(self, node: ast.expr, subscript: ast.Subscript) -> Found:
        if node is subscript.slice:
            yield Use(UseKind.INDEX, subscript, self._value(subscript.value))
        elif isinstance(subscript.ctx, ast.Load):
            yield Use(UseKind.OTHER, subscript)
        else:
            statement = self._parent(subscript)
            if isinstance(statement, ast.Assign | ast.AugAssign):
                value = self._value(statement.value)
                yield Use(UseKind.COMBINED if value.is_tensor else UseKind.OTHER, subscript, value)

    def _assigned(self, node: ast.expr, statement: ast.Assign | ast.AnnAssign) -> Found:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if target is node or statement.value is not node:
                continue
            if isinstance(target, ast.Attribute):
                yield Use(UseKind.STORED, target)
            elif isinstance(target, ast.Subscript):
                held = self._value(target.value)
                kind = UseKind.COMBINED if held.is_tensor else UseKind.STORED
                yield Use(kind, target, held if held.is_tensor else None)

    def _in_display(self, node: ast.expr, display: ast.Tuple | ast.List | ast.Set | ast.Dict) -> Found:
        outer = self._parent(display)
        if isinstance(outer, ast.Subscript) and outer.slice is display:
            yield Use(UseKind.INDEX, outer, self._value(outer.value))
        elif isinstance(outer, ast.Return | ast.Yield):
            yield Use(UseKind.RETURNED, outer)
        elif isinstance(outer, ast.Call) and self._is_torch(outer):
            others = [
                *_elements(display, node),
                *(argument for argument in outer.args if argument is not display),
            ]
            yield self._among(outer, others)
        elif isinstance(outer, ast.Assign) and _is_unpacked(display, outer):
            # Taken apart again at once: the names it is unpacked to are followed.
            return
        else:
            yield Use(UseKind.STORED, display)

    def _is_torch(self, call: ast.Call) -> bool:
        qualified = self._value(call.func).qualified
        return qualified is not None and qualified.startswith("torch.") and self._value(call).is_tensor


def _elements(display: ast.Tuple | ast.List | ast.Set | ast.Dict, node: ast.expr) -> list[ast.expr]:
    held = display.values if isinstance(display, ast.Dict) else display.elts
    return [element for element in held if element is not node]


def _is_unpacked(display: ast.expr, statement: ast.Assign) -> bool:
    return statement.value is display and all(isinstance(t, ast.Tuple | ast.List) for t in statement.targets)


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


_AT: dict[type[ast.AST] | type[None], Callable[..., Found]] = {
    ast.Attribute: Uses._in_attribute,
    ast.Call: Uses._in_call,
    ast.BinOp: Uses._in_binary,
    ast.Compare: Uses._in_comparison,
    ast.UnaryOp: Uses._in_unary,
    ast.AugAssign: Uses._in_augmented,
    ast.Subscript: Uses._in_subscript,
    ast.Slice: Uses._in_slice,
    ast.Assign: Uses._assigned,
    ast.AnnAssign: Uses._assigned,
    ast.Tuple: Uses._in_display,
    ast.List: Uses._in_display,
    ast.Set: Uses._in_display,
    ast.Dict: Uses._in_display,
    ast.Return: Uses._returned,
    ast.Yield: Uses._returned,
    ast.YieldFrom: Uses._returned,
    ast.If: Uses._read,
    ast.While: Uses._read,
    ast.Assert: Uses._read,
    ast.FormattedValue: Uses._read,
    ast.Raise: Uses._read,
    ast.comprehension: Uses._read,
    ast.For: Uses._iterated,
    ast.AsyncFor: Uses._iterated,
    ast.ListComp: Uses._collected,
    ast.SetComp: Uses._collected,
    ast.GeneratorExp: Uses._collected,
    ast.DictComp: Uses._collected,
    ast.withitem: Uses._otherwise,
    ast.Lambda: Uses._otherwise,
}
