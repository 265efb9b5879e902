"""What a setting is where a program's user says nothing: the values that an expression may have.

``num_workers=args.workers`` is good practice where the option's default is, and none where that is 0.
Followed are names, parameters (their defaults, and what this file hands them), attributes of ``self``,
settings that the file declares (``options``), and what is looked up with a default. What cannot be followed
has no values: it shows nothing.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import product

from warplint.advice.score.options import declared, held, of_decorators
from warplint.static.domain import device_string
from warplint.static.facts import Facts
from warplint.static.inference.parameters import matched
from warplint.static.parsing.blocks import FunctionOutline
from warplint.static.parsing.tree import below, dotted, last_name, with_defaults
from warplint.static.structure.index import Index
from warplint.static.values import Place

_MAX_DEPTH = 8
"""Names, parameters and options that are followed from a setting to a literal."""
_MOST_FOLLOWED = 256
"""Expressions that are followed for one setting: a name that is set again and again leads to itself."""
_MAX_PAIRS = 64
"""Pairs of values of two operands that are computed with: more come of no real program."""

ON_A_MACHINE: dict[str, object] = {
    "torch.cuda.is_available": True,
    "torch.cuda.is_bf16_supported": True,
    "torch.cuda.device_count": 1,
    "os.cpu_count": 8,
    "os.process_cpu_count": 8,
    "multiprocessing.cpu_count": 8,
    "torch.multiprocessing.cpu_count": 8,
    "os.sched_getaffinity": frozenset(range(8)),
}
"""What functions return on a machine with a GPU, for which a score is. 8 stands for any number of cores."""

_APPLIED: dict[str, Callable[..., object]] = {
    "bool": bool, "int": int, "float": float, "str": str, "len": len, "min": min, "max": max,
}  # fmt: skip
_OF_SEVERAL = frozenset({"min", "max"})
"""Functions that take their operands one by one, or all in one list."""
_OPERATORS: dict[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Is: operator.is_,
    ast.IsNot: operator.is_not, ast.Not: operator.not_, ast.USub: operator.neg,
}  # fmt: skip
_EQUALITY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)

_LOOKED_UP = {"get": 1, "getenv": 1, "pop": 1, "getattr": 2}
"""Functions that look something up, with the place of the default among their arguments."""

Values = Iterator[object]


class Settings:
    """The settings of one file, followed when they are asked for."""

    def __init__(self, index: Index, facts: Facts) -> None:
        self._index = index
        self._facts = facts
        self._left = 0

    def values(self, node: ast.expr) -> list[object]:
        """The literals that an expression may stand for, with no order among them."""
        self._left = _MOST_FOLLOWED
        return list(self._values(node, _MAX_DEPTH))

    @cached_property
    def _declared(self) -> dict[str, list[ast.expr]]:
        return declared(self._index)

    def _values(self, node: ast.expr, depth: int) -> Values:
        if isinstance(node, ast.Constant):
            # ``Field(...)`` says that the program's user has to say something.
            if node.value is not Ellipsis:
                yield node.value
        elif depth and self._left:
            self._left -= 1
            follow = _FOLLOW.get(type(node))
            if follow is not None:
                yield from follow(self, node, depth - 1)

    def _of_each(self, nodes: list[ast.expr], depth: int) -> Values:
        for node in nodes:
            yield from self._values(node, depth)

    def _name(self, node: ast.Name, depth: int) -> Values:
        yield from self._of_each(self._bound(node), depth)

    def _bound(self, node: ast.Name) -> list[ast.expr]:
        """What a name may be bound to in the functions around it, innermost first, else in the module.

        Asking the engine would be exact, and cost the evaluation of whole functions at each keystroke.
        """
        function = self._function(node)
        while function is not None:
            found = [*_assigned(node.id, below(function.node)), *self._handed(node.id, function)]
            if found:
                return found
            function = function.outer
        return [
            value
            for placed in self._index.chunks
            for value in _assigned(node.id, placed.chunk.outline.globals.get(node.id, ()))
        ]

    def _function(self, node: ast.expr) -> FunctionOutline | None:
        around = self._facts.function(node)
        if around is None or isinstance(around.node, ast.Lambda):
            return None
        return self._index.by_node[around.node]

    def _handed(self, name: str, function: FunctionOutline) -> list[ast.expr]:
        """A parameter's default, what click would hand over, and what calls in this file do."""
        found: list[ast.expr] = []
        for argument, default in with_defaults(function.node.args):
            if argument.arg == name:
                found += [] if default is None else [held(default)]
                found += of_decorators(function.node.decorator_list, name)
                sites = [caller.site for caller in self._index.callers.get(function, ())]
                handed = (matched(function, site.node) for site in sites if not site.handed_over)
                found += [given[name] for given in handed if name in given]
        return found

    def _attribute(self, node: ast.Attribute, depth: int) -> Values:
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        yield from self._of_each((self._stored(node) if is_own else []) or self._set(node.attr), depth)

    def _stored(self, node: ast.Attribute) -> list[ast.expr]:
        """What the methods of a class set an attribute of ``self`` to."""
        owner = self._index.owner(self._function(node))
        return [
            value
            for found in (self._index.lineage(owner) if owner is not None else ())
            for method in sorted(found.stores.get(node.attr, ()))
            for value in _assigned(f"self.{node.attr}", below(found.methods[method].node))
        ]

    def _set(self, name: str) -> list[ast.expr]:
        """What the file declares as a setting's default, or sets it to."""
        assigned = [
            statement.value
            for placed in self._index.chunks
            for target in placed.chunk.outline.settings.get(name, ())
            if isinstance(statement := self._facts.parent(target), ast.Assign)
        ]
        return [*self._declared.get(name, ()), *assigned]

    def _subscript(self, node: ast.Subscript, depth: int) -> Values:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield from self._entry(node.value, node.slice.value, depth)

    def _entry(self, mapping: ast.expr, key: str, depth: int) -> Values:
        """What a dictionary holds under a key, as far as it is written out."""
        for made in self._bound(mapping) if isinstance(mapping, ast.Name) else [mapping]:
            if isinstance(made, ast.Dict):
                entries = zip(made.keys, made.values, strict=True)
                found = [
                    value for name, value in entries if isinstance(name, ast.Constant) and name.value == key
                ]
                yield from self._of_each(found, depth)
        yield from self._of_each(self._set(key), depth)

    def _call(self, node: ast.Call, depth: int) -> Values:
        name = self._facts.qualified(node.func)
        if name in ON_A_MACHINE:
            yield ON_A_MACHINE[name]
            return
        function = last_name(node.func)
        if function in _LOOKED_UP:
            yield from self._looked_up(node, _LOOKED_UP[function], depth)
        elif isinstance(node.func, ast.Name) and function in _APPLIED and self._facts.is_builtin(node.func):
            if function in _OF_SEVERAL and len(node.args) == 1:
                yield from self._of_one_list(_APPLIED[function], node.args[0], depth)
            else:
                yield from self._computed(_APPLIED[function], node.args, depth)

    def _of_one_list(self, function: Callable[..., object], several: ast.expr, depth: int) -> Values:
        """What ``min([cores, workers])`` is."""
        if isinstance(several, ast.List | ast.Tuple):
            yield from self._computed(lambda *chosen: function(chosen), several.elts, depth)
        else:
            yield from self._computed(function, [several], depth)

    def _looked_up(self, call: ast.Call, place: int, depth: int) -> Values:
        """What ``settings.get("workers", 4)`` finds, else the default at its place among the arguments."""
        *_, key = [None, *call.args[:place]]
        found: list[object] = []
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            held_by = call.func.value if isinstance(call.func, ast.Attribute) else call.args[0]
            found = list(self._entry(held_by, key.value, depth))
        yield from found or self._of_each(call.args[place : place + 1], depth)

    def _computed(self, function: Callable[..., object], operands: list[ast.expr], depth: int) -> Values:
        """What a function makes of each choice of its operands' values; nothing where one is unknown."""
        known = [list(self._values(operand, depth)) for operand in operands]
        for count, chosen in enumerate(product(*known)):
            if count == _MAX_PAIRS:
                return
            try:
                yield function(*chosen)
            except (TypeError, ValueError, ArithmeticError):
                # The program would fail on these too: they are no values that it has.
                continue

    def _operation(self, node: ast.BinOp, depth: int) -> Values:
        if type(node.op) in _OPERATORS:
            yield from self._computed(_of_numbers(_OPERATORS[type(node.op)]), [node.left, node.right], depth)

    def _unary(self, node: ast.UnaryOp, depth: int) -> Values:
        if type(node.op) in _OPERATORS:
            yield from self._computed(_OPERATORS[type(node.op)], [node.operand], depth)

    def _comparison(self, node: ast.Compare, depth: int) -> Values:
        """``device.type == "cuda"`` holds where a score is of interest, whatever is known of the device."""
        compare, other = _OPERATORS.get(type(node.ops[0])), node.comparators[0]
        if len(node.ops) > 1 or compare is None:
            return
        place = device_string(other.value) if isinstance(other, ast.Constant) else None
        if place is not None and isinstance(node.ops[0], _EQUALITY):
            yield compare(place, Place.ACCELERATOR)
        else:
            yield from self._computed(compare, [node.left, other], depth)

    def _either(self, node: ast.IfExp, depth: int) -> Values:
        yield from self._of_each([node.body, node.orelse], depth)

    def _boolean(self, node: ast.BoolOp, depth: int) -> Values:
        """``a or b`` may be each; ``a and b`` is on where all may be, off where one is known to be."""
        if isinstance(node.op, ast.Or):
            yield from self._of_each(node.values, depth)
            return
        operands = [list(self._values(operand, depth)) for operand in node.values]
        if all(any(values) for values in operands):
            yield True
        elif any(values and not any(values) for values in operands):
            yield False


def _of_numbers(function: Callable[..., object]) -> Callable[..., object]:
    """The function, for numbers alone: a text that is multiplied can fill the memory."""

    def computed(*operands: object) -> object:
        if not all(isinstance(operand, int | float) for operand in operands):
            raise TypeError("an operand is no number")
        return function(*operands)

    return computed


def _assigned(name: str, statements: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """What assignments among some statements give a name, which may be dotted."""
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(dotted(target) == name for target in targets):
                yield statement.value


_FOLLOW: dict[type[ast.expr], Callable[..., Values]] = {
    ast.Name: Settings._name, ast.Attribute: Settings._attribute, ast.Subscript: Settings._subscript,
    ast.Call: Settings._call, ast.BinOp: Settings._operation, ast.UnaryOp: Settings._unary,
    ast.Compare: Settings._comparison, ast.IfExp: Settings._either, ast.BoolOp: Settings._boolean,
}  # fmt: skip
