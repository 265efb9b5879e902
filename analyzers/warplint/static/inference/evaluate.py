"""What each expression is: its kind, where it lives, what it shares its device with."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Protocol

from warplint.source.records import dataclass
from warplint.static import domain
from warplint.static.inference import calls, python
from warplint.static.inference.evidence import Evidence
from warplint.static.parsing.blocks import ClassOutline
from warplint.static.parsing.tree import children, dotted, last_name
from warplint.static.tables import naming, torch_methods
from warplint.static.values import UNKNOWN, Kind, Place, Value


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """What a name holds: its value and the expressions it may come from."""

    value: Value
    sources: tuple[ast.expr, ...]


Env = dict[str, Binding]


class World(Protocol):
    """What the rest of the module knows."""

    def global_value(self, name: str) -> Value | None:
        """A module-level name; None when the module does not bind it."""

    def imported(self, target: str) -> Value:
        """What an import statement binds a name to."""

    def member(self, module: str, name: str) -> Value:
        """What another module of the project has under a name."""

    def attribute(self, owner: str, name: str) -> Value:
        """An attribute of an instance of a class of the project."""

    def returned(self, function: str, call: ast.Call | None, values: Mapping[ast.AST, Value]) -> Value:
        """What a function or method of the project gives back to a call whose arguments are in ``values``."""

    def instance(self, owner: str) -> Value:
        """An instance of a class of the project."""

    def default_place(self) -> Place:
        """Where factories build when nothing is said."""


class Evaluator(ABC):
    """Evaluates the expressions of one unit: an outermost function, or the module's own statements.

    ``values`` holds each expression's value, ``loads`` for each source expression the names that read it,
    ``sources`` for each such name its sources. ``likely`` says that unpinned tensors here are likely on the
    accelerator, ``on_host`` that nothing here goes there. ``dropped`` is the last call that stands as a
    statement: its result goes nowhere.
    """

    def __init__(
        self, world: World, owner: ClassOutline | None, evidence: Callable[[], Evidence], likely: bool
    ) -> None:
        self.world = world
        self.owner = owner
        self._evidence = evidence
        self.likely = likely
        self.on_host = False
        self.values: dict[ast.AST, Value] = {}
        self.loads: dict[ast.AST, dict[ast.expr, None]] = {}
        self.sources: dict[ast.AST, tuple[ast.expr, ...]] = {}
        self.likes: set[str] = set()
        self._globals: dict[str, Value | None] = {}
        self._members: dict[tuple[str, str], Value] = {}
        self.attributes: set[str] = set()
        self.default_place = world.default_place()
        self.draft = False
        self.dropped: ast.Call | None = None
        self.loop_exits: list[list[Env]] = []
        self.returned: list[Value] = []

    def value(self, node: ast.expr, env: Env) -> Value:
        """Evaluate an expression and everything in it."""
        if type(node) is ast.Name:
            # Nearly half of all expressions.
            held = env.get(node.id)
            value = (self._global(node.id) or UNKNOWN) if held is None else self._load(node, held)
        else:
            evaluate = _EVALUATE.get(type(node))
            value = self._parts(node, env) if evaluate is None else evaluate(self, node, env)
        self.values[node] = value
        return value

    def refined(self, name: str, value: Value, source: ast.expr) -> Value:
        """A value that says nothing, corrected by what the function does with the name."""
        if value.element is not None and value.constant == domain.BATCH:
            return value.element if name in self._evidence().whole else value
        if value.kind is not Kind.UNKNOWN or value.qualified is not None:
            return value
        found = self._evidence()
        if name in found.holders:
            return domain.mapping(self.placed(domain.tensor()))
        if name in found.strong or (name in found.weak and self._worked_on_tensors(source)):
            return domain.tensor(Place.CPU) if _is_copy_to_cpu(source) else self.placed(domain.tensor())
        return value

    def _worked_on_tensors(self, source: ast.expr) -> bool:
        if not isinstance(source, ast.Call):
            return False
        given = [*source.args, *(keyword.value for keyword in source.keywords)]
        return any(self.values.get(argument, UNKNOWN).on_accelerator for argument in given)

    def placed(self, value: Value) -> Value:
        """A tensor that nothing pins to the CPU is likely on the accelerator in code that runs every step."""
        if self.likely and value.kind is Kind.TENSOR and value.place is Place.UNKNOWN:
            return domain.tensor(Place.LIKELY_ACCELERATOR, value.like, value.ndim, value.dtype)
        return value

    def entered(self, context: Value) -> Value:
        """What ``with … as`` binds: mostly the context itself."""
        return UNKNOWN if context.kind is Kind.DEVICE else context

    # Names

    def _global(self, name: str) -> Value | None:
        if name not in self._globals:
            self._globals[name] = self.world.global_value(name)
        return self._globals[name]

    def _load(self, node: ast.expr, held: Binding) -> Value:
        sources = held.sources
        for source in sources:
            loads = self.loads.get(source)
            if loads is None:
                self.loads[source] = {node: None}
            else:
                loads[node] = None
        self.sources[node] = sources
        return held.value

    def is_builtin(self, node: ast.expr, env: Env) -> bool:
        """Whether a name is what Python calls so: bound neither here nor in the module."""
        return type(node) is ast.Name and node.id not in env and self._global(node.id) is None

    def _attribute(self, node: ast.Attribute, env: Env) -> Value:
        base = self.value(node.value, env)
        if node.attr in self.attributes:
            name = dotted(node)
            held = env.get(name) if name is not None else None
            if held is not None:
                return self._load(node, held)
        return self._attribute_of(base, node)

    def _attribute_of(self, base: Value, node: ast.Attribute) -> Value:
        name = node.attr
        if base.kind is Kind.TENSOR:
            return self._tensor_attribute(base, name)
        if base.qualified is not None:
            if base.qualified.endswith(">"):
                return self.world.member(base.qualified, name)
            if domain.is_defined(base.qualified):
                return self._own_attribute(base.qualified, node)
            if base.kind is Kind.UNKNOWN:
                return domain.imported(f"{base.qualified}.{name}")
        if base.kind is Kind.SEQUENCE and base.element is not None and name in _FIELDS:
            return base.element
        if base.kind is Kind.MODULE and name in {"weight", "bias"}:
            return self.placed(domain.tensor(base.place))
        if base.kind is Kind.NDARRAY:
            return python.ARRAY_ATTRIBUTES.get(name, domain.NUMBER)
        if name == "grad" and base.kind is Kind.UNKNOWN and base.qualified is None:
            return domain.tensor(Place.LIKELY_ACCELERATOR)
        return _BY_NAME.get(name, UNKNOWN)

    def _tensor_attribute(self, base: Value, name: str) -> Value:
        if name in torch_methods.VIEWS:
            is_trained = name == "grad" and base.place is Place.UNKNOWN
            return base.with_(place=Place.LIKELY_ACCELERATOR) if is_trained else base
        if name == "shape":
            return domain.SHAPE
        if name == "device":
            place = base.place if base.place is not Place.UNKNOWN else Place.LIKELY_ACCELERATOR
            return Value(Kind.DEVICE, place, base.like)
        if name == "dtype":
            return Value(Kind.DTYPE, constant=base.dtype)
        if name in torch_methods.METADATA:
            return domain.NUMBER
        # What a model returns is kept as one tensor; its fields are tensors beside each other.
        return domain.tensor(base.place, base.like) if name in naming.OUTPUT_FIELDS else UNKNOWN

    def _own_attribute(self, owner: str, node: ast.Attribute) -> Value:
        found = self._members.get((owner, node.attr))
        if found is None:
            found = self._members[owner, node.attr] = self.world.attribute(owner, node.attr)
        if found.kind is Kind.UNKNOWN and found.qualified is None:
            return _BY_NAME.get(node.attr, UNKNOWN)
        return found.with_(like=dotted(node)) if found.on_accelerator else found

    # Operators

    def _constant(self, node: ast.Constant, env: Env) -> Value:
        return domain.of_constant(node.value)

    def _binary(self, node: ast.BinOp, env: Env) -> Value:
        left, right = self.value(node.left, env), self.value(node.right, env)
        if left.kind is Kind.STRING:
            return domain.STRING
        if left.kind is Kind.TENSOR:
            if _is_number(node.right, right):
                right = domain.NUMBER
        elif right.kind is Kind.TENSOR and _is_number(node.left, left):
            left = domain.NUMBER
        result = domain.combine([left, right])
        if result.kind is Kind.TENSOR and left.dtype == right.dtype and left.dtype == "torch.bool":
            return domain.tensor(result.place, result.like, result.ndim, "torch.bool")
        return result

    def _unary(self, node: ast.UnaryOp, env: Env) -> Value:
        operand = self.value(node.operand, env)
        if isinstance(node.op, ast.Not):
            return domain.NUMBER
        if operand.kind is Kind.NUMBER and isinstance(node.op, ast.USub):
            negated = operand.constant
            return domain.of_constant(-negated) if isinstance(negated, int | float) else domain.NUMBER
        if operand.is_tensor:
            return domain.tensor(operand.place, operand.like, operand.ndim, operand.dtype)
        return operand

    def _boolean(self, node: ast.BoolOp, env: Env) -> Value:
        values = [self.value(node.values[0], env)]
        inner = env
        for before, operand in pairwise(node.values):
            if type(before) in _TELLING:
                # A later operand is only reached where the earlier ones did not decide.
                inner = dict(inner) if inner is env else inner
                self.narrow(before, isinstance(node.op, ast.And), inner)
            values.append(self.value(operand, inner))
        return domain.join_all(values) or UNKNOWN

    def _compare(self, node: ast.Compare, env: Env) -> Value:
        values = [self.value(part, env) for part in [node.left, *node.comparators]]
        if any(type(operator) in _OF_OBJECTS for operator in node.ops):
            return domain.NUMBER
        result = domain.combine(values)
        if result.kind is Kind.TENSOR:
            return domain.tensor(result.place, result.like, result.ndim, "torch.bool")
        if result.kind is Kind.NDARRAY:
            return domain.NDARRAY
        return domain.NUMBER if result.kind is not Kind.UNKNOWN else UNKNOWN

    def _choice(self, node: ast.IfExp, env: Env) -> Value:
        self.value(node.test, env)
        taken, refused = dict(env), dict(env)
        self.narrow(node.test, True, taken)
        self.narrow(node.test, False, refused)
        return domain.join(self.value(node.body, taken), self.value(node.orelse, refused))

    # Containers

    def _display(self, node: ast.Tuple | ast.List | ast.Set, env: Env) -> Value:
        values = [self.value(element, env) for element in node.elts]
        if any(type(element) is ast.Starred for element in node.elts):
            return domain.sequence(domain.join_all(values))
        return domain.parts(values)

    def _dictionary(self, node: ast.Dict, env: Env) -> Value:
        for key in node.keys:
            if key is not None:
                self.value(key, env)
        return domain.mapping(domain.join_all([self.value(held, env) for held in node.values]))

    def _starred(self, node: ast.Starred, env: Env) -> Value:
        return domain.iterated(self.value(node.value, env))

    def _subscript(self, node: ast.Subscript, env: Env) -> Value:
        held = self.value(node.value, env)
        index = self.value(node.slice, env)
        if held.elements is not None and isinstance(index.constant, int):
            known = dict(enumerate(held.elements)) | dict(enumerate(held.elements, -len(held.elements)))
            return known.get(index.constant, UNKNOWN)
        if held.kind is Kind.TENSOR:
            return self._indexed(held, node.slice, index)
        if isinstance(index.constant, str) and self._is_counted(node.value, index.constant):
            return domain.NUMBER
        if held.kind is Kind.UNKNOWN and index.on_accelerator:
            # Only a tensor can be indexed with a tensor on the accelerator.
            return domain.tensor(index.place, index.like)
        if isinstance(node.slice, ast.Slice) and held.kind is not Kind.LOADER:
            return held
        return domain.element_of(held)

    def _is_counted(self, holder: ast.expr, key: str) -> bool:
        """Whether a number is kept under a key: ``state["step"] = 0``, though the rest are tensors."""
        return isinstance(holder, ast.Name) and (holder.id, key) in self._evidence().counted

    def _indexed(self, held: Value, index: ast.expr, value: Value) -> Value:
        """A part of a tensor: a number takes one dimension away, a slice none."""
        if isinstance(index, ast.Slice):
            return held
        ndim = held.ndim - 1 if held.ndim and value.kind is Kind.NUMBER else None
        return domain.tensor(held.place, held.like, ndim, held.dtype)

    def _slice(self, node: ast.Slice, env: Env) -> Value:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.value(part, env)
        return UNKNOWN

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, env: Env) -> Value:
        inner = self._generators(node.generators, env)
        element = self.value(node.elt, inner)
        return domain.sequence(element if element.kind is not Kind.UNKNOWN else None)

    def _dict_comprehension(self, node: ast.DictComp, env: Env) -> Value:
        inner = self._generators(node.generators, env)
        self.value(node.key, inner)
        return domain.mapping(self.value(node.value, inner))

    def _generators(self, generators: list[ast.comprehension], env: Env) -> Env:
        inner = dict(env)
        for generator in generators:
            iterated = self.value(generator.iter, inner)
            self.bind(generator.target, domain.iterated(iterated), generator.iter, inner)
            for test in generator.ifs:
                self.value(test, inner)
                self.narrow(test, True, inner)
        return inner

    @abstractmethod
    def bind(self, target: ast.expr, value: Value, source: ast.expr, env: Env) -> None:
        """Give a target its value. ``source`` is the expression the value comes from."""

    # Calls and the rest

    def _call(self, node: ast.Call, env: Env) -> Value:
        return calls.result(self, node, env)

    def _walrus(self, node: ast.NamedExpr, env: Env) -> Value:
        value = self.value(node.value, env)
        self.bind(node.target, value, node.value, env)
        return value

    def _lambda(self, node: ast.Lambda, env: Env) -> Value:
        inner = dict(env)
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            inner[argument.arg] = Binding(UNKNOWN, ())
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.value(default, env)
        return Value(Kind.CALLABLE, element=self.value(node.body, inner))

    def _text(self, node: ast.JoinedStr, env: Env) -> Value:
        self._parts(node, env)
        return domain.STRING

    def _formatted(self, node: ast.FormattedValue, env: Env) -> Value:
        self.value(node.value, env)
        if node.format_spec is not None:
            self.value(node.format_spec, env)
        return domain.STRING

    def _await(self, node: ast.Await, env: Env) -> Value:
        return self.value(node.value, env)

    def _yield(self, node: ast.Yield | ast.YieldFrom, env: Env) -> Value:
        if node.value is not None:
            given = self.value(node.value, env)
            self.returned.append(domain.sequence(given) if isinstance(node, ast.Yield) else given)
        return UNKNOWN

    def _parts(self, node: ast.AST, env: Env) -> Value:
        for child in children(node):
            if isinstance(child, ast.expr):
                self.value(child, env)
        return UNKNOWN

    # Tests

    def narrow(self, test: ast.expr, truth: bool, env: Env) -> None:
        """Use what a test says of a name in the branch it decides."""
        while type(test) is ast.UnaryOp and type(test.op) is ast.Not:
            test, truth = test.operand, not truth
        if isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) is truth:
                for operand in test.values:
                    self.narrow(operand, truth, env)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            other = test.comparators[0]
            if isinstance(other, ast.Constant) and other.value is None:
                self._narrow_none(test, isinstance(test.ops[0], ast.Is) is truth, env)
        elif isinstance(test, ast.Call):
            self._narrow_type(test, truth, env)

    def _narrow_none(self, test: ast.Compare, is_none: bool, env: Env) -> None:
        name = dotted(test.left)
        held = env.get(name) if name is not None else None
        if held is None or name is None:
            return
        if is_none and isinstance(test.left, ast.Name):
            env[name] = Binding(domain.NONE, held.sources)
        elif not is_none and held.value.kind is Kind.NONE:
            env[name] = Binding(UNKNOWN, held.sources)

    def _narrow_type(self, test: ast.Call, truth: bool, env: Env) -> None:
        checked = test.args[0] if test.args else None
        name = dotted(checked) if checked is not None else None
        if name is None or name not in env:
            return
        narrowed = calls.checked_type(self, test)
        held = env[name]
        if not truth:
            if narrowed.is_tensor and held.value.is_tensor:
                env[name] = Binding(UNKNOWN, held.sources)
            return
        if narrowed.kind is Kind.SEQUENCE and held.value.is_tensor:
            # What a model returns is kept as one tensor until it proves to be several.
            narrowed = domain.sequence(held.value)
        if narrowed.kind is not Kind.UNKNOWN and narrowed.kind is not held.value.kind:
            env[name] = Binding(self.placed(narrowed), held.sources)


def _is_number(node: ast.expr, value: Value) -> bool:
    """Whether what a tensor is computed with is a Python number, by its name: a size, or a setting."""
    if value.kind is not Kind.UNKNOWN or value.qualified is not None:
        return False
    if isinstance(node, ast.Attribute) and naming.SETTINGS.fullmatch(last_name(node.value)):
        return True
    return isinstance(node, _NAMED) and naming.NUMBER.fullmatch(last_name(node)) is not None


_OF_OBJECTS = frozenset({ast.Is, ast.IsNot, ast.In, ast.NotIn})
_TELLING = frozenset({ast.Call, ast.Compare, ast.UnaryOp})
_NAMED = (ast.Name, ast.Attribute)

_FIELDS = naming.OUTPUT_FIELDS | naming.INPUT_FIELDS | {"values", "indices"}
"""Fields of what models, tokenizers, ``topk`` and ``max`` return."""


def _is_copy_to_cpu(source: ast.expr) -> bool:
    return (
        isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and source.func.attr == "cpu"
    )


_BY_NAME = {
    "device": domain.LIKELY_DEVICE,
    "dtype": domain.DTYPE,
    "shape": domain.SHAPE,
    "ndim": domain.NUMBER,
    "training": domain.NUMBER,
    "__name__": domain.STRING,
}
"""Attributes of unknown objects whose name says enough."""

_EVALUATE: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Attribute: Evaluator._attribute,
    ast.Constant: Evaluator._constant,
    ast.BinOp: Evaluator._binary,
    ast.UnaryOp: Evaluator._unary,
    ast.BoolOp: Evaluator._boolean,
    ast.Compare: Evaluator._compare,
    ast.IfExp: Evaluator._choice,
    ast.Tuple: Evaluator._display,
    ast.List: Evaluator._display,
    ast.Set: Evaluator._display,
    ast.Dict: Evaluator._dictionary,
    ast.Starred: Evaluator._starred,
    ast.Subscript: Evaluator._subscript,
    ast.Slice: Evaluator._slice,
    ast.ListComp: Evaluator._comprehension,
    ast.SetComp: Evaluator._comprehension,
    ast.GeneratorExp: Evaluator._comprehension,
    ast.DictComp: Evaluator._dict_comprehension,
    ast.Call: Evaluator._call,
    ast.NamedExpr: Evaluator._walrus,
    ast.Lambda: Evaluator._lambda,
    ast.JoinedStr: Evaluator._text,
    ast.FormattedValue: Evaluator._formatted,
    ast.Await: Evaluator._await,
    ast.Yield: Evaluator._yield,
    ast.YieldFrom: Evaluator._yield,
}
