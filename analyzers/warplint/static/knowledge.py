"""Everything known of one version of a module, worked out when it is asked for.

Each answer is kept, and so is who asked: what a chunk was told about the rest of the module is its incoming
facts. While its text and those answers stay the same, so do its findings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

from warplint.static import domain, parameters
from warplint.static.evaluate import Binding, Env
from warplint.static.evidence import Evidence, evidence
from warplint.static.finding import Hotness
from warplint.static.flow import Flow
from warplint.static.hotness import HOT_ROLES, Heat, HotnessMap
from warplint.static.index import Index
from warplint.static.names import canonical
from warplint.static.outline import Block, ClassOutline, FunctionOutline
from warplint.static.role import Role
from warplint.static.roles import MODULE
from warplint.static.tables import torch_functions
from warplint.static.tables.class_roles import HOST_ROLES
from warplint.static.values import UNKNOWN, Kind, Place, Value

Question = tuple[object, ...]
Answers = dict[Question, object]

_KINDS = {
    MODULE: Kind.MODULE,
    "dataset": Kind.DATASET,
    "optimizer": Kind.OPTIMIZER,
    "loader": Kind.LOADER,
}
CLASS = "class"
"""The ``constant`` of a value that is a class of this file, not an instance."""

_MAX_CALLERS = 6
"""Callers of one function that are evaluated for what they hand it."""
_MAX_DEPTH = 6
"""Calls that are followed into each other."""
_NOTHING = object()


class Knowledge:
    """Answers about one version of a module. Questions are tuples: a method's name and its arguments."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._answers: Answers = {}
        self._asked: list[Answers] = []
        self._units: dict[FunctionOutline | None, Unit] = {}
        self._evidence: dict[ast.AST, Evidence] = {}
        self._work = Work()

    @cached_property
    def heat(self) -> HotnessMap:
        return HotnessMap(self.index)

    # Asking

    def ask(self, *question: object) -> object:
        """The answer to a question, noted for whoever is listening."""
        known = self._answers.get(question, self._work.answers.get(question, _NOTHING))
        if question in self._answers:
            answer = known
        elif known is not _NOTHING:
            self._work.is_incomplete = True
            answer = known
        else:
            answer = self._find(question)
        if self._asked:
            self._asked[-1][question] = answer
        return answer

    def _find(self, question: Question) -> object:
        outer, self._work.is_incomplete = self._work.is_incomplete, False
        with self.listening():
            answer = getattr(self, f"_{question[0]}")(*question[1:])
        kept = self._work.answers if self._work.is_incomplete else self._answers
        kept[question] = answer
        self._work.is_incomplete |= outer
        if not self._work.running:
            self._work = Work()
        return answer

    @contextmanager
    def listening(self) -> Iterator[Answers]:
        """Collect the questions asked meanwhile, with their answers."""
        self._asked.append({})
        try:
            yield self._asked[-1]
        finally:
            self._asked.pop()

    def told(self, answers: Answers) -> None:
        """Note answers that were given before, to whoever is listening."""
        if self._asked:
            self._asked[-1].update(answers)

    # Functions

    def role(self, function: FunctionOutline) -> Role:
        found = self.ask("role", function)
        assert isinstance(found, Role)
        return found

    def _role(self, function: FunctionOutline) -> Role:
        return self.heat.role(function)

    def class_role(self, owner: ClassOutline) -> str | None:
        found = self.ask("class_role", owner)
        assert found is None or isinstance(found, str)
        return found

    def _class_role(self, owner: ClassOutline) -> str | None:
        return self.index.class_roles.role(owner)

    def block_heat(self, block: Block) -> Heat:
        found = self.ask("block_heat", block)
        assert isinstance(found, Heat)
        return found

    def _block_heat(self, block: Block) -> Heat:
        return self.heat.block(block)

    def alias(self, name: str) -> str | None:
        """What a module-level import binds a name to."""
        found = self.ask("alias", name)
        assert found is None or isinstance(found, str)
        return found

    def _alias(self, name: str) -> str | None:
        target = self.index.scope.imports.get(name)
        return canonical(target) if target is not None else None

    def binds(self, name: str) -> bool:
        """Whether the module itself binds a name."""
        return bool(self.ask("binds", name))

    def _binds(self, name: str) -> bool:
        return name in self.index.scope.bound

    def calls_of(self, function: FunctionOutline) -> tuple[ast.Call, ...]:
        """The calls of a function in this file; none where it is also handed over, to be called elsewhere."""
        found = self.ask("calls_of", function)
        assert isinstance(found, tuple)
        return found

    def _calls_of(self, function: FunctionOutline) -> tuple[ast.Call, ...]:
        sites = [caller.site for caller in self.index.callers.get(function, ())]
        return () if any(site.handed_over for site in sites) else tuple(site.node for site in sites)

    def is_computed(self, attribute: str) -> bool:
        """Whether a class of this file sets an attribute to more than a flag, number or parameter."""
        return bool(self.ask("is_computed", attribute))

    def _is_computed(self, attribute: str) -> bool:
        return any(attribute in owner.computed for owner in self.index.classes.values())

    # Units

    def unit(self, function: FunctionOutline | None) -> Unit | None:
        """The evaluated unit around a function (None: the module's own statements); None while it runs."""
        outermost = unit_of(function)
        known = self._units.get(outermost) or self._work.units.get(outermost)
        if known is not None:
            self._work.is_incomplete |= outermost not in self._units
            return known
        with self._working(outermost) as may_run:
            if not may_run:
                return None
            with self.listening() as asked:
                unit = self._run(outermost)
        unit.asked = asked
        # What the work began with has been followed as far as it goes, even where it comes back to itself.
        kept = self._work.units if self._work.running and self._work.is_incomplete else self._units
        kept[outermost] = unit
        if not self._work.running:
            self._work = Work()
        return unit

    @contextmanager
    def _working(self, unit: object) -> Iterator[bool]:
        """Mark a unit as being worked on; False where it already is, or where calls go too deep to follow."""
        running = self._work.running
        if unit in running or len(running) >= _MAX_DEPTH:
            self._work.is_incomplete = True
            yield False
            return
        running.append(unit)
        try:
            yield True
        finally:
            running.remove(unit)

    def _run(self, function: FunctionOutline | None, given: dict[str, Value] | None = None) -> Unit:
        """Evaluate a unit; ``given`` is what one call hands it, else all calls in the file count."""
        if function is None:
            return self._run_module()
        owner = self.index.owner(function)
        unit = Unit(self, owner, function.node, self._is_likely(function))
        unit.final = unit.run(function.node.body, self.parameter_values(function.node, unit.likely, given))
        return unit

    def _run_module(self) -> Unit:
        likely = any(
            self.heat.block(loop).hotness is Hotness.STEP
            for placed in self.index.chunks
            for loop in placed.chunk.outline.loops
            if loop.function is None
        )
        body = [statement for placed in self.index.chunks for statement in placed.chunk.tree.body]
        unit = Unit(self, None, ast.Module(body, []), likely)
        unit.final = unit.run(body, {})
        return unit

    def _is_likely(self, function: FunctionOutline) -> bool:
        """Whether unpinned tensors in a function are likely on the accelerator."""
        owner = self.index.owner(function)
        if owner is not None and self.class_role(owner) in HOST_ROLES:
            return False
        role = self.role(function)
        if role in {Role.DATA, Role.SETUP}:
            return False
        if role in HOT_ROLES:
            return True
        blocks = [function.node, *(loop.node for loop in function.loops)]
        return any(self._is_step(block) for block in blocks)

    def _is_step(self, node: ast.AST) -> bool:
        for placed in self.index.chunks:
            block = placed.chunk.outline.own_block.get(node)
            if block is not None:
                return self.block_heat(block).hotness is Hotness.STEP
        return False

    # The rest of the module, for evaluation

    def global_value(self, name: str) -> Value | None:
        found = self.ask("global", name)
        assert found is None or isinstance(found, Value)
        return found

    def _global(self, name: str) -> Value | None:
        if name not in self.index.scope.bound:
            return None
        target = self.index.scope.imports.get(name)
        if target is not None:
            return domain.imported(canonical(target))
        if name in self.index.functions:
            return Value(Kind.CALLABLE, qualified=domain.THIS_FILE + name)
        if name in self.index.classes:
            return Value(qualified=domain.THIS_FILE + name, constant=CLASS)
        unit = self.unit(None)
        held = unit.final.get(name) if unit is not None and unit.final is not None else None
        if held is None:
            return UNKNOWN
        if held.value.origin is None and len(held.sources) == 1:
            return held.value.with_(origin=held.sources[0])
        return held.value

    def default_place(self) -> Place:
        found = self.ask("default_device")
        assert isinstance(found, Place)
        return found

    def _default_device(self) -> Place:
        for site in self.index.calls:
            if site.name in {"set_default_device", "set_default_tensor_type"} and not site.handed_over:
                name = self.index.global_name(site.node.func)
                if name in torch_functions.DEVICE_SETTERS and site.node.args:
                    return _set_place(site.node.args[0], site.name)
        return Place.CPU

    def instance(self, owner: str) -> Value:
        found = self.ask("instance", owner)
        assert isinstance(found, Value)
        return found

    def _instance(self, owner: str) -> Value:
        outline = self.index.classes.get(owner.removeprefix(domain.THIS_FILE))
        role = self.index.class_roles.role(outline) if outline is not None else None
        return Value(_KINDS.get(role or "", Kind.UNKNOWN), qualified=owner)

    def class_node(self, qualified: str) -> ast.ClassDef | None:
        """The statement of a class of this file."""
        found = self.ask("class_node", qualified)
        assert found is None or isinstance(found, ast.ClassDef)
        return found

    def _class_node(self, qualified: str) -> ast.ClassDef | None:
        if not qualified.startswith(domain.THIS_FILE):
            return None
        outline = self.index.classes.get(qualified.removeprefix(domain.THIS_FILE))
        return outline.node if outline is not None else None

    def attribute(self, owner: str, name: str) -> Value:
        found = self.ask("attribute", owner, name)
        assert isinstance(found, Value)
        return found

    def _attribute(self, owner: str, name: str) -> Value:
        outline = self.index.classes.get(owner.removeprefix(domain.THIS_FILE))
        if outline is None:
            return UNKNOWN
        method = self.index.method(outline, name)
        if method is not None:
            if any(_is_property(decorator) for decorator in method.node.decorator_list):
                return self.returned(f"{domain.THIS_FILE}{outline.name}.{name}", None, {})
            return Value(Kind.CALLABLE, qualified=f"{owner}.{name}")
        for found in self.index.lineage(outline):
            values = list(self._stored(found, name))
            if values:
                is_module = self.index.class_roles.role(outline) == MODULE
                return _from_outside(domain.join_all(values) or UNKNOWN, is_module)
        return UNKNOWN

    def _stored(self, owner: ClassOutline, name: str) -> Iterator[Value]:
        """What each method that sets an attribute leaves in it."""
        for method_name in sorted({"__init__", *owner.stores.get(name, ())}):
            method = owner.methods.get(method_name)
            unit = self.unit(method) if method is not None else None
            if unit is None or method is None or not method.node.args.args:
                continue
            held = (unit.final or {}).get(f"{method.node.args.args[0].arg}.{name}")
            if held is not None:
                yield held.value

    def returned(self, function: str, call: ast.Call | None, values: Mapping[ast.AST, Value]) -> Value:
        outline = self._function(function.removeprefix(domain.THIS_FILE))
        if outline is None:
            return UNKNOWN
        handed = parameters.matched(outline, call) if call is not None else {}
        given = {name: domain.coarse(values.get(argument, UNKNOWN)) for name, argument in handed.items()}
        found = self.ask("returned", function, tuple(sorted(given.items(), key=lambda item: item[0])))
        assert isinstance(found, Value)
        return found

    def _returned(self, function: str, given: tuple[tuple[str, Value], ...]) -> Value:
        outline = self._function(function.removeprefix(domain.THIS_FILE))
        assert outline is not None, "asked of functions that are there"
        with self._working(outline) as may_run:
            if not may_run:
                return UNKNOWN
            unit = self._run(outline, dict(given))
        # The names of its own variables mean nothing to the caller.
        return domain.anonymous(domain.join_all(unit.returned) or domain.NONE)

    def _function(self, name: str) -> FunctionOutline | None:
        if name in self.index.functions:
            return self.index.functions[name]
        owner, _, method = name.rpartition(".")
        outline = self.index.classes.get(owner)
        return self.index.method(outline, method) if outline is not None else None

    # Parameters

    def parameter_values(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        likely: bool,
        given: dict[str, Value] | None,
    ) -> Env:
        """What a function's parameters are on entry, from one call or from all of them."""
        function = self._outline(node)
        known = self.evidence_in(node)
        if given is None:
            given = self._from_callers(function) if function is not None else {}
        owner = function.class_ if function is not None else None
        is_module = owner is not None and self.class_role(owner) == MODULE
        forward = function is not None and is_module and self.role(function) is Role.FORWARD
        env: Env = {}
        for argument, default in parameters.with_defaults(node.args):
            value = parameters.value_of(argument, default, given.get(argument.arg), known, forward)
            if value.is_tensor:
                place = value.place
                if place is Place.UNKNOWN and likely:
                    place = Place.LIKELY_ACCELERATOR
                value = value.with_(place=place, like=argument.arg, origin=None)
            elif value.kind is Kind.MODULE and value.place is Place.UNKNOWN and likely:
                value = value.with_(place=Place.LIKELY_ACCELERATOR)
            env[argument.arg] = Binding(value, ())
        if owner is not None and node.args.args and not _is_static(node):
            first = node.args.args[0].arg
            name = domain.THIS_FILE + owner.name
            is_class = any(isinstance(d, ast.Name) and d.id == "classmethod" for d in node.decorator_list)
            value = Value(qualified=name, constant=CLASS) if is_class else self.instance(name)
            env[first] = Binding(value, ())
        return env

    def evidence_in(self, node: ast.AST) -> Evidence:
        """What a function's body says of the names in it."""
        if node not in self._evidence:
            self._evidence[node] = evidence(node)
        return self._evidence[node]

    def _outline(self, node: ast.AST) -> FunctionOutline | None:
        for placed in self.index.chunks:
            found = placed.chunk.outline.by_node.get(node)
            if found is not None:
                return found
        return None

    def _from_callers(self, function: FunctionOutline) -> dict[str, Value]:
        found = self.ask("arguments", function)
        assert isinstance(found, dict)
        return found

    def _arguments(self, function: FunctionOutline) -> dict[str, Value]:
        """What this file's calls hand to a function's parameters, where all of them can be read."""
        callers = self.index.callers.get(function, [])
        if not callers or len(callers) > _MAX_CALLERS or any(caller.site.handed_over for caller in callers):
            return {}
        given: dict[str, list[Value]] = {}
        for caller in callers:
            unit = self.unit(caller.function)
            if unit is None:
                return {}
            for name, argument in parameters.matched(function, caller.site.node).items():
                given.setdefault(name, []).append(unit.values.get(argument, UNKNOWN))
        return {
            name: domain.coarse(domain.join_all(values) or UNKNOWN)
            for name, values in given.items()
            if len(values) == len(callers)
        }


class Unit(Flow):
    """One outermost function, method or module, evaluated. ``asked`` is what it was told of the rest."""

    def __init__(self, knowledge: Knowledge, owner: ClassOutline | None, node: ast.AST, likely: bool) -> None:
        super().__init__(knowledge, owner, lambda: knowledge.evidence_in(node), likely)
        self._knowledge = knowledge
        self.is_module = isinstance(node, ast.Module)
        self.final: Env | None = None
        self.asked: Answers = {}

    def parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Env:
        return self._knowledge.parameter_values(node, self.likely, None)


class Work:
    """Units being worked on, innermost last, and what was found meanwhile.

    An answer that needs one of them is incomplete: it serves the work at hand and is then forgotten, so that
    no answer depends on what was asked first.
    """

    def __init__(self) -> None:
        self.running: list[object] = []
        self.is_incomplete = False
        self.answers: Answers = {}
        self.units: dict[FunctionOutline | None, Unit] = {}


def unit_of(function: FunctionOutline | None) -> FunctionOutline | None:
    """The function whose evaluation covers this one: nested functions run with the one around them."""
    while function is not None and function.class_ is None and function.outer is not None:
        function = function.outer
    return function


def _is_property(decorator: ast.expr) -> bool:
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return name in {"property", "cached_property"}


def _is_static(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        isinstance(decorator, ast.Name) and decorator.id == "staticmethod"
        for decorator in node.decorator_list
    )


def _from_outside(value: Value, is_module: bool) -> Value:
    """An attribute as other methods find it: parameters and buffers have moved with the module."""
    if value.kind is Kind.TENSOR and is_module and value.qualified in torch_functions.PARAMETERS:
        return domain.tensor(Place.LIKELY_ACCELERATOR, None, value.ndim, value.dtype)
    if value.kind is Kind.MODULE:
        # Where the whole was moved to, its parts went along.
        return value.with_(place=Place.LIKELY_ACCELERATOR)
    return domain.anonymous(value)


def _set_place(node: ast.expr, setter: str) -> Place:
    text = ast.unparse(node)
    if setter == "set_default_tensor_type":
        return Place.ACCELERATOR if "cuda" in text else Place.CPU
    if isinstance(node, ast.Constant):
        return domain.device_string(node.value) or Place.LIKELY_ACCELERATOR
    return Place.CPU if "'cpu'" in text and "cuda" not in text else Place.LIKELY_ACCELERATOR
