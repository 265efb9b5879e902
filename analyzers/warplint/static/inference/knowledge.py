"""Everything known of one version of a module, worked out when it is asked for.

Questions about what other files define are passed on to a ``View`` of them. What that says are facts: they
follow from the other files, and are compared when this one is looked at again.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from warplint.static import domain
from warplint.static.annotations import annotated
from warplint.static.finding import Hotness
from warplint.static.inference import parameters
from warplint.static.inference.evaluate import Binding, Env
from warplint.static.inference.evidence import Evidence, evidence
from warplint.static.inference.questions import (
    FUNCTIONS_DEEP,
    Answers,
    Asking,
    Question,
    fact,
    followed_fact,
    question,
    silent_fact,
)
from warplint.static.inference.unit import Unit, unit_of
from warplint.static.parsing.blocks import Block, CallSite, ClassOutline, FunctionOutline
from warplint.static.parsing.chunks import Chunk
from warplint.static.parsing.tree import FunctionNode, has_decorator, with_defaults
from warplint.static.role import Role
from warplint.static.structure.host_loops import stays_on_host
from warplint.static.structure.hotness import HOT_ROLES, Heat, HotnessMap
from warplint.static.structure.index import Index
from warplint.static.structure.names import canonical
from warplint.static.structure.own_models import makes_what_it_trains
from warplint.static.structure.roles import MODULE, is_construction
from warplint.static.tables import torch_functions
from warplint.static.tables.class_roles import HOST_ROLES
from warplint.static.tables.libraries import is_library
from warplint.static.values import UNKNOWN, Kind, Place, Value

if TYPE_CHECKING:
    from warplint.static.inference.abroad import View
    from warplint.static.inference.revision import Revision

Handed = tuple[tuple[str, Value], ...]
"""What a call hands to which parameter."""

_KINDS = {
    MODULE: Kind.MODULE,
    "dataset": Kind.DATASET,
    "optimizer": Kind.OPTIMIZER,
    "loader": Kind.LOADER,
}
_AUTOGRAD = "autograd function"
_MODELS = frozenset({MODULE, "loss"})
"""Roles of classes that are handed tensors."""
_MAX_CALLERS = 6
"""Callers of one function that are evaluated for what they hand it."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class Knowledge(Asking):
    """Answers about one version of a module.

    ``others`` are the project's other files, where they are to be looked at. ``attributes`` tells what
    instances of a class are given, where that is known already. Functions of more than ``longest_lines`` are
    not followed.
    """

    def __init__(
        self,
        index: Index,
        others: View | None = None,
        functions_deep: int = FUNCTIONS_DEEP,
        longest_lines: int | None = None,
        attributes: Callable[[str], Mapping[str, Value] | None] = lambda owner: None,
        *,
        notes: bool = True,
    ) -> None:
        super().__init__(functions_deep, notes=notes)
        self.index = index
        self._others = others
        self._given_attributes = attributes
        self._longest_lines = longest_lines

    @property
    def _heat(self) -> HotnessMap:
        # It follows from the index alone, which other files ask about more than once.
        heat = self.index.heat
        if heat is None:
            heat = self.index.heat = HotnessMap(self.index)
        return heat

    def changed(self, facts: Answers, revision: Revision) -> frozenset[Question]:
        """Those of an earlier version's facts that are no longer so, or are about what is gone."""
        gone = revision.gone_parts
        doubtful = revision.doubtful(facts)
        return frozenset(
            question
            for question in doubtful
            if not gone.isdisjoint(question[1]) or self.again(question) != facts[question]
        )

    # Functions, classes, names

    @fact
    def role(self, function: FunctionOutline) -> Role:
        return self._heat.role(function)

    @fact
    def class_role(self, owner: ClassOutline) -> str | None:
        return self.index.class_roles.role(owner)

    @fact
    def block_heat(self, block: Block) -> Heat:
        return self._heat.block(block)

    @fact
    def alias(self, name: str) -> str | None:
        """What a module-level import binds a name to."""
        target = self.index.scope.imports.get(name)
        return canonical(target) if target is not None else None

    @fact
    def binds(self, name: str) -> bool:
        """Whether the module itself binds a name."""
        return name in self.index.scope.bound

    @fact
    def is_computed(self, attribute: str) -> bool:
        """Whether a class of this file sets an attribute to more than a flag, number or parameter."""
        return any(attribute in owner.computed for owner in self.index.classes.values())

    @fact
    def calls_of(self, function: FunctionOutline) -> tuple[ast.Call, ...]:
        """The calls of a function in this file; none where it is also handed over, to be called elsewhere."""
        sites = [caller.site for caller in self.index.callers.get(function, ())]
        return () if any(site.handed_over for site in sites) else tuple(site.node for site in sites)

    @fact
    def is_called(self, name: str) -> bool:
        """Whether the file calls something of this last name anywhere."""
        return name in self.index.called_names

    @fact
    def calls_any(self, names: frozenset[str]) -> bool:
        """Whether the file calls something of one of these last names anywhere."""
        return not names.isdisjoint(self.index.called_names)

    @fact
    def is_given(self, keyword: str) -> bool:
        """Whether some call in the file is handed a keyword argument of this name."""
        return keyword in self.index.given_keywords

    @fact
    def makes_what_it_trains(self) -> bool:
        """Whether the file makes all models whose parameters it asks for, of its own classes or PyTorch's."""
        return makes_what_it_trains(self.index)

    @fact
    def mentions(self, pattern: str) -> bool:
        """Whether a pattern is found anywhere in the file's text, its comments included."""
        return any(placed.chunk.mentions(pattern) for placed in self.index.chunks)

    @fact
    def class_node(self, qualified: str) -> ast.ClassDef | None:
        """The statement of a class of the project."""
        if domain.is_abroad(qualified):
            return self._others.class_node(qualified) if self._others is not None else None
        outline = self._class(qualified)
        return outline.node if outline is not None else None

    @fact
    def function_node(self, qualified: str) -> FunctionNode | None:
        """The statement of a function of the project, or of a method that a class has or inherits."""
        outline = self.function(qualified)
        return outline.node if outline is not None else None

    def _class(self, qualified: str) -> ClassOutline | None:
        if not qualified.startswith(domain.THIS_FILE):
            return None
        return self.index.classes.get(qualified.removeprefix(domain.THIS_FILE))

    def function(self, qualified: str) -> FunctionOutline | None:
        """The function of the project with a qualified name, or the method that a class has or inherits."""
        if domain.is_abroad(qualified):
            return self._function_elsewhere(qualified)
        found = self._function(qualified)
        if found is None:
            owner, _, method = qualified.rpartition(".")
            names = [f"{base}.{method}" for base in self._bases_elsewhere(owner)]
            found = next(filter(None, map(self._function_elsewhere, names)), None)
        return found

    @silent_fact
    def _function(self, qualified: str) -> FunctionOutline | None:
        """The function of this file with a qualified name."""
        name = qualified.removeprefix(domain.THIS_FILE)
        if name in self.index.functions:
            return self.index.functions[name]
        owner, _, method = qualified.rpartition(".")
        outline = self._class(owner)
        return self.index.method(outline, method) if outline is not None else None

    @silent_fact
    def _lineage(self, qualified: str) -> tuple[ClassOutline, ...]:
        """A class of this file and its bases here, nearest first; empty for any other name."""
        outline = self._class(qualified)
        return tuple(self.index.lineage(outline)) if outline is not None else ()

    # What other files define

    @fact
    def _imported(self, target: str) -> Value | None:
        return self._others.imported(target) if self._others is not None else None

    @fact
    def _member_elsewhere(self, module: str, name: str) -> Value | None:
        return self._others.member(module, name) if self._others is not None else None

    @fact
    def _function_elsewhere(self, qualified: str) -> FunctionOutline | None:
        return self._others.function(qualified) if self._others is not None else None

    @fact
    def _attribute_elsewhere(self, owner: str, name: str) -> Value:
        return self._others.attribute(owner, name) if self._others is not None else UNKNOWN

    @fact
    def _returned_elsewhere(self, function: str, given: Handed) -> Value:
        return self._others.returned(function, given) if self._others is not None else UNKNOWN

    @fact
    def _class_role_elsewhere(self, qualified: str) -> str | None:
        return self._others.role_of(qualified) if self._others is not None else None

    @fact
    def _bases_elsewhere(self, qualified: str) -> tuple[str, ...]:
        """The classes of other files that a class of this one derives from, nearest first."""
        if self._others is None:
            return ()
        names = [
            name
            for owner in self._lineage(qualified)
            for base in owner.node.bases
            for name in self.index.imports_of(base)
        ]
        return tuple(found for name in names for found in self._others.classes(name))

    @silent_fact
    def _callers(self, function: FunctionOutline) -> tuple[tuple[CallSite, FunctionOutline | None], ...]:
        """The calls in this file that may run a function, each with the function around it."""
        return tuple((caller.site, caller.function) for caller in self.index.callers.get(function, ()))

    def outline_of(self, node: FunctionNode) -> FunctionOutline:
        return self.index.by_node[node]

    def evidence_in(self, node: ast.AST) -> Evidence:
        known = self.index.evidence.get(node)
        if known is None:
            known = self.index.evidence[node] = evidence(node)
        return known

    # Units

    def unit(self, function: FunctionOutline | None) -> Unit | None:
        """The evaluated unit around a function (None: the module's own statements); None while it runs."""
        outermost = unit_of(function)
        unit = self.keep(("unit", (outermost,)), lambda: self._unit(outermost))
        assert unit is None or isinstance(unit, Unit)
        return unit

    def _unit(self, outermost: FunctionOutline | None) -> Unit | None:
        if outermost is not None and self._is_too_long(outermost):
            return None
        # Much rests on what constructors set.
        further = 1 if outermost is not None and is_construction(outermost) else 0
        with self.working(outermost, further) as may_run:
            if not may_run:
                return None
            with self.listening() as asked:
                unit = self._run(outermost, None) if outermost is not None else self._run_module()
        unit.asked = asked
        return unit

    def _is_too_long(self, function: FunctionOutline) -> bool:
        lines = (function.node.end_lineno or 0) - function.node.lineno
        return self._longest_lines is not None and lines > self._longest_lines

    def _run(self, function: FunctionOutline, given: Mapping[str, Value] | None) -> Unit:
        """Evaluate a function; ``given`` is what one call hands it, else all calls in the file count."""
        unit = Unit(self, self.index.owner(function), function.node, self._is_likely(function))
        unit.on_host = not unit.likely and self._stays_on_host(function)
        if given is None:
            given = self._arguments(function)
        unit.evaluate(function.node.body, self._entry(function, unit.likely, given))
        return unit

    def _run_module(self) -> Unit:
        self._module_flow()
        likely = any(
            self.block_heat(loop).hotness is Hotness.STEP
            for placed in self.index.chunks
            for loop in placed.chunk.outline.loops
            if loop.function is None
        )
        body = [statement for placed in self.index.chunks for statement in placed.chunk.tree.body]
        unit = Unit(self, None, ast.Module(body, []), likely)
        unit.evaluate(body, {})
        return unit

    @fact
    def _module_flow(self) -> tuple[Chunk, ...]:
        """The chunks whose statements run one after the other and hand each other their names."""
        return tuple(
            placed.chunk
            for placed in self.index.chunks
            if any(not isinstance(statement, _DEFINITIONS) for statement in placed.chunk.tree.body)
        )

    def _is_likely(self, function: FunctionOutline) -> bool:
        """Whether unpinned tensors in a function are likely on the accelerator."""
        owner = self.index.owner(function)
        if owner is not None and self.class_role(owner) in HOST_ROLES:
            return False
        role = self.role(function)
        if role in (Role.DATA, Role.SETUP):
            return False
        if role in HOT_ROLES or self.block_heat(function.body).hotness is Hotness.STEP:
            return True
        is_hot = any(self.block_heat(loop).hotness is Hotness.STEP for loop in function.loops)
        return is_hot and not self._stays_on_host(function)

    def _stays_on_host(self, function: FunctionOutline) -> bool:
        return stays_on_host(function, self._is_familiar)

    def _is_familiar(self, name: str) -> bool:
        """Whether a function's name is Python's own, a library's, or that of what this file defines."""
        target = self.alias(name)
        if target is not None:
            return is_library(target)
        own = domain.THIS_FILE + name
        return hasattr(builtins, name) or self._function(own) is not None or self.class_node(own) is not None

    # What expressions ask

    @followed_fact
    def global_value(self, name: str) -> Value | None:
        if name not in self.index.scope.bound:
            found = map(self._imported, self.index.starred(name))
            return next(filter(None, found), None)
        target = self.index.scope.imports.get(name)
        if target is not None:
            return self.imported(target)
        if name in self.index.functions:
            return Value(Kind.CALLABLE, qualified=domain.THIS_FILE + name)
        if name in self.index.classes:
            return Value(qualified=domain.THIS_FILE + name, constant=domain.CLASS)
        with self.apart(None):
            unit = self.unit(None)
        held = unit.final.get(name) if unit is not None and unit.final is not None else None
        if held is None:
            return UNKNOWN
        if held.value.origin is None and len(held.sources) == 1:
            return held.value.with_(origin=held.sources[0])
        return held.value

    def imported(self, target: str) -> Value:
        found = None if is_library(target) else self._imported(target)
        return found or domain.imported(canonical(target))

    def member(self, module: str, name: str) -> Value:
        return self._member_elsewhere(module, name) or UNKNOWN

    @fact
    def default_place(self) -> Place:
        setters = (site for site in self.index.calls if site.name in _SETTERS and not site.handed_over)
        for site in setters:
            name = self.index.global_name(site.node.func)
            if name in torch_functions.DEVICE_SETTERS and site.node.args:
                return _set_place(site.node.args[0], site.name)
        return Place.CPU

    @fact
    def instance(self, owner: str) -> Value:
        if domain.is_abroad(owner):
            return Value(_KINDS.get(self._class_role_elsewhere(owner) or "", Kind.UNKNOWN), qualified=owner)
        outline = self._class(owner)
        role = self.index.class_roles.role(outline) if outline is not None else None
        return Value(_KINDS.get(role or "", Kind.UNKNOWN), qualified=owner)

    @question
    def attribute(self, owner: str, name: str) -> Value:
        if domain.is_abroad(owner):
            return self._attribute_elsewhere(owner, name)
        lineage = self._lineage(owner)
        if not lineage:
            return UNKNOWN
        known = self._given_attributes(owner)
        if known is not None and name in known:
            return known[name]
        if known is None and not any(name in found.methods for found in lineage):
            for found in lineage:
                value = domain.join_known(list(self._stored(found, name)))
                if value is not None:
                    return _from_outside(value, self.class_role(lineage[0]) == MODULE)
        return self.defined_attribute(owner, name)

    def defined_attribute(self, owner: str, name: str) -> Value:
        """An attribute that no method sets: one of the methods, or what bases in other files have."""
        methods = (found.methods[name] for found in self._lineage(owner) if name in found.methods)
        method = next(methods, None)
        if method is not None:
            qualified = f"{owner}.{name}"
            is_property = has_decorator(method.node, "property", "cached_property")
            return self._returned(qualified, ()) if is_property else Value(Kind.CALLABLE, qualified=qualified)
        for base in self._bases_elsewhere(owner):
            value = self._attribute_elsewhere(base, name)
            if value != UNKNOWN:
                return value
        return UNKNOWN

    def attributes(self, owner: str) -> Mapping[str, Value]:
        """All that instances of a class of this file are given, by its methods and those of bases here."""
        names = {name for found in self._lineage(owner) for name in (*found.stores, *found.computed)}
        return {name: self.attribute(owner, name) for name in sorted(names)}

    def _stored(self, owner: ClassOutline, name: str) -> Iterator[Value]:
        """What each method that sets an attribute leaves in it."""
        for method_name in sorted({"__init__", *owner.stores.get(name, ())}):
            method = owner.methods.get(method_name)
            unit = self.unit(method) if method is not None else None
            if unit is None or unit.final is None or method is None or not method.node.args.args:
                continue
            held = unit.final.get(f"{method.node.args.args[0].arg}.{name}")
            if held is not None:
                yield held.value

    def returned(self, function: str, call: ast.Call | None, values: Mapping[ast.AST, Value]) -> Value:
        outline = self.function(function)
        if outline is None:
            return UNKNOWN
        handed = parameters.matched(outline, call) if call is not None else {}
        given = {name: domain.coarse(values.get(argument, UNKNOWN)) for name, argument in handed.items()}
        if call is not None:
            given.update(dict.fromkeys(parameters.left_out(outline, call) - handed.keys(), domain.NONE))
        return self.returned_for(function, tuple(sorted(given.items(), key=lambda item: item[0])))

    def returned_for(self, function: str, given: Handed) -> Value:
        """What a function of the project gives for arguments like these."""
        if not domain.is_abroad(function) and self._function(function) is not None:
            return self._returned(function, given)
        owner, _, method = function.rpartition(".")
        is_here = not domain.is_abroad(function)
        names = [f"{base}.{method}" for base in self._bases_elsewhere(owner)] if is_here else [function]
        handed = tuple((name, domain.detached(value)) for name, value in given)
        for name in names:
            outline = self._function_elsewhere(name)
            if outline is not None:
                return _promised(outline) or self._returned_elsewhere(name, handed)
        return UNKNOWN

    @question
    def _returned(self, function: str, given: Handed) -> Value:
        outline = self._function(function)
        if outline is None or self._is_too_long(outline):
            return UNKNOWN
        with self.working(outline) as may_run:
            if not may_run:
                return UNKNOWN
            unit = self._run(outline, dict(given))
        # The names of its own variables mean nothing to the caller.
        return domain.anonymous(domain.join_all(unit.returned) or domain.NONE)

    # Parameters

    def parameters(self, function: FunctionOutline, likely: bool) -> Env:
        return self._entry(function, likely, self._arguments(function))

    def _entry(self, function: FunctionOutline, likely: bool, given: Mapping[str, Value]) -> Env:
        """The names a function starts with."""
        node, owner = function.node, function.class_
        known = self.evidence_in(node)
        class_role = self.class_role(owner) if owner is not None else None
        is_model = class_role in _MODELS and self.role(function) is Role.FORWARD
        inputs = parameters.entering_autograd(function) if class_role == _AUTOGRAD else frozenset()
        env: Env = {}
        for argument, default in with_defaults(node.args):
            is_input = is_model or argument.arg in inputs
            value = parameters.value_of(argument, default, given.get(argument.arg), known, is_input)
            env[argument.arg] = Binding(parameters.on_entry(value, argument.arg, likely), ())
        if owner is not None and node.args.args and not has_decorator(node, "staticmethod"):
            name = domain.THIS_FILE + owner.name
            is_class = has_decorator(node, "classmethod")
            value = Value(qualified=name, constant=domain.CLASS) if is_class else self.instance(name)
            env[node.args.args[0].arg] = Binding(value, ())
        return env

    def _unit_of_caller(self, caller: FunctionOutline | None) -> Unit | None:
        """The unit around a call. That of the module is complete, whatever function was asked about first."""
        if caller is not None:
            return self.unit(caller)
        with self.apart(None):
            return self.unit(None)

    @question
    def _arguments(self, function: FunctionOutline) -> Mapping[str, Value]:
        """What this file's calls hand to a function's parameters, where all of them can be read."""
        callers = self._callers(function)
        if not callers or len(callers) > _MAX_CALLERS or any(site.handed_over for site, _ in callers):
            return {}
        handed = [parameters.matched(function, site.node) for site, _ in callers]
        names = [
            argument.arg
            for argument, _ in with_defaults(function.node.args)
            if all(argument.arg in each for each in handed)
        ]
        if not names:
            # Nobody need be evaluated for what they hand it.
            return {}
        given: dict[str, list[Value]] = {name: [] for name in names}
        for (_, caller), arguments in zip(callers, handed, strict=True):
            unit = self._unit_of_caller(caller)
            if unit is None:
                return {}
            for name in names:
                given[name].append(unit.values.get(arguments[name], UNKNOWN))
        return {name: domain.coarse(domain.join_known(values) or UNKNOWN) for name, values in given.items()}


def _promised(function: FunctionOutline) -> Value | None:
    """What a function's annotation says that it gives, where that leaves nothing to find out."""
    returns = function.node.returns
    if isinstance(returns, ast.Constant) and returns.value is None:
        return domain.NONE
    value = annotated(returns)
    return value if value.kind in (Kind.NUMBER, Kind.STRING) else None


def _from_outside(value: Value, is_module: bool) -> Value:
    """An attribute as other methods find it: parameters and buffers have moved with the module."""
    if value.kind is Kind.TENSOR and is_module and value.qualified in torch_functions.PARAMETERS:
        return domain.tensor(Place.LIKELY_ACCELERATOR, None, value.ndim, value.dtype)
    if value.kind is Kind.MODULE:
        # Where the whole was moved to, its parts went along.
        return value.with_(place=Place.LIKELY_ACCELERATOR)
    return domain.anonymous(value)


_SETTERS = frozenset(name.rpartition(".")[2] for name in torch_functions.DEVICE_SETTERS)


def _set_place(node: ast.expr, setter: str) -> Place:
    """Where factories build after a default device or tensor type is set."""
    text = ast.unparse(node)
    if setter == "set_default_tensor_type":
        return Place.ACCELERATOR if "cuda" in text else Place.CPU
    if isinstance(node, ast.Constant):
        return domain.device_string(node.value) or Place.LIKELY_ACCELERATOR
    return Place.CPU if "'cpu'" in text and "cuda" not in text else Place.LIKELY_ACCELERATOR
