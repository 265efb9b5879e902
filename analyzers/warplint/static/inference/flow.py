"""Abstract execution of one function's statements, in order: which values its names hold at each place.

Branches are joined, a loop's body is run twice (the second time with what the first left behind), and what
``return`` gives is collected. Expressions are ``evaluate``'s.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from warplint.static import domain
from warplint.static.annotations import annotated
from warplint.static.inference.evaluate import Binding, Env, Evaluator
from warplint.static.parsing.outline import imported, pattern_names
from warplint.static.parsing.tree import FunctionNode, dotted
from warplint.static.tables.libraries import is_library
from warplint.static.values import UNKNOWN, Kind, Place, Value


class Flow(Evaluator):
    """Runs statements. ``is_module`` is set where they are the module's own."""

    is_module: bool

    @abstractmethod
    def parameters(self, node: FunctionNode) -> Env:
        """What a nested function's parameters are on entry."""

    def run(self, body: Iterable[ast.stmt], env: Env) -> Env | None:
        """The names after the statements; None when they never get to their end."""
        current: Env | None = env
        for statement in body:
            if current is None:
                return None
            current = self._statement(statement, current)
        return current

    def _statement(self, statement: ast.stmt, env: Env) -> Env | None:
        run = _RUN.get(type(statement))
        return env if run is None else run(self, statement, env)

    # Binding

    def bind(self, target: ast.expr, value: Value, source: ast.expr, env: Env) -> None:
        """Give a target its value. ``source`` is the expression the value comes from."""
        if type(target) is ast.Name:
            self._bind_name(target.id, self.refined(target.id, value, source), source, env)
        elif type(target) is ast.Tuple or type(target) is ast.List:
            self._unpack(target.elts, value, source, env)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, domain.sequence(domain.iterated(value)), source, env)
        elif isinstance(target, ast.Attribute):
            self.value(target.value, env)
            name = dotted(target)
            if name is not None:
                env[name] = Binding(value, (source,))
                self.attributes.add(target.attr)
        elif isinstance(target, ast.Subscript):
            held, index = self.value(target.value, env), self.value(target.slice, env)
            if held.kind is Kind.UNKNOWN and index.on_accelerator:
                # Only a tensor can be indexed with a tensor on the accelerator.
                self.values[target.value] = domain.tensor(index.place, index.like)

    def _bind_name(self, name: str, value: Value, source: ast.expr, env: Env) -> None:
        if name in self.likes and value.like != name:
            for key, held in env.items():
                if held.value.like == name and key != name:
                    env[key] = Binding(held.value.with_(like=None, device=None), held.sources)
        if value.on_accelerator and value.like is None:
            value = value.with_(like=name)
        if value.like is not None:
            self.likes.add(value.like)
        env[name] = Binding(value, (source,))

    def _unpack(self, targets: list[ast.expr], value: Value, source: ast.expr, env: Env) -> None:
        star = next((i for i, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
        written = source.elts if isinstance(source, ast.Tuple | ast.List) else None
        for index, target in enumerate(targets):
            if index == star:
                self.bind(target, value, source, env)
                continue
            # What stands behind the star is counted from the end.
            place = index if star is None or index < star else index - len(targets)
            part = _part(written, place, len(targets), star)
            known = _part(value.elements, place, len(targets), star)
            if part is not None:
                self.bind(target, self.values.get(part, UNKNOWN), part, env)
            else:
                self.bind(target, domain.iterated(value) if known is None else known, source, env)

    # Simple statements

    def _assign(self, statement: ast.Assign, env: Env) -> Env:
        value = self.value(statement.value, env)
        for target in statement.targets:
            self.bind(target, value, statement.value, env)
        return env

    def _annotated(self, statement: ast.AnnAssign, env: Env) -> Env:
        if statement.value is not None:
            value = self.value(statement.value, env)
            if value.kind is Kind.UNKNOWN:
                value = self.placed(annotated(statement.annotation))
            self.bind(statement.target, value, statement.value, env)
        return env

    def _augmented(self, statement: ast.AugAssign, env: Env) -> Env:
        given = self.value(statement.value, env)
        target = statement.target
        held = self.value(target, env)
        result = held if held.kind is Kind.TENSOR else domain.combine([held, given])
        if type(target) is ast.Name or type(target) is ast.Attribute:
            self.bind(target, result, target, env)
        return env

    def _return(self, statement: ast.Return, env: Env) -> None:
        self.returned.append(domain.NONE if statement.value is None else self.value(statement.value, env))

    def _expression(self, statement: ast.Expr, env: Env) -> Env:
        if not isinstance(statement.value, ast.Call):
            self.value(statement.value, env)
            return env
        self.dropped = statement.value
        self._in_place(statement.value, self.value(statement.value, env), env)
        return env

    def _in_place(self, call: ast.Call, result: Value, env: Env) -> None:
        """Calls that change what they are called on: modules moving, lists growing, buffers registered."""
        if not isinstance(call.func, ast.Attribute):
            return
        owner = dotted(call.func.value)
        if owner is None:
            return
        method = call.func.attr
        if result.kind is Kind.MODULE and method in {"to", "cuda", "cpu", "half", "float", "bfloat16"}:
            held = env.get(owner)
            env[owner] = Binding(result, held.sources if held else (call.func.value,))
            if "." in owner:
                self.attributes.add(call.func.value.attr)  # type: ignore[attr-defined]
        elif method == "append" and owner in env and len(call.args) == 1:
            held = env[owner]
            if held.value.kind is Kind.SEQUENCE:
                added = self.values.get(call.args[0], UNKNOWN)
                element = domain.join(held.value.element, added) if held.value.element else added
                env[owner] = Binding(domain.sequence(element).with_(origin=held.value.origin), held.sources)
        elif method in {"register_buffer", "register_parameter"} and len(call.args) > 1:
            name = call.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                value = self.values.get(call.args[1], UNKNOWN)
                if value.kind is Kind.TENSOR:
                    value = value.with_(qualified="torch.nn.Buffer")
                env[f"{owner}.{name.value}"] = Binding(value, (call.args[1],))
                self.attributes.add(name.value)

    def _other(self, statement: ast.stmt, env: Env) -> Env:
        for field in ("test", "msg", "exc", "cause"):
            part = getattr(statement, field, None)
            if part is not None:
                self.value(part, env)
        return env

    def _raise(self, statement: ast.Raise, env: Env) -> None:
        self._other(statement, env)

    def _leave_loop(self, statement: ast.stmt, env: Env) -> None:
        if self.loop_exits:
            self.loop_exits[-1].append(env)

    def _delete(self, statement: ast.Delete, env: Env) -> Env:
        for target in statement.targets:
            name = dotted(target)
            if name is not None:
                env.pop(name, None)
            elif isinstance(target, ast.Subscript):
                self.value(target.value, env)
        return env

    def _import(self, statement: ast.Import | ast.ImportFrom, env: Env) -> Env:
        for alias, target in imported(statement).items():
            if self.is_module and not is_library(target):
                # Looked up where it is used: most imports lead to other files, and are used in functions.
                env.pop(alias, None)
            else:
                env[alias] = Binding(self.world.imported(target), ())
        return env

    # Compound statements

    def _if(self, statement: ast.stmt, env: Env) -> Env | None:
        # ``elif`` chains are run level by level: generated ones are deeper than Python's stack.
        ends: list[Env | None] = []
        while True:
            assert type(statement) is ast.If
            self.value(statement.test, env)
            taken, refused = dict(env), env
            self.narrow(statement.test, True, taken)
            self.narrow(statement.test, False, refused)
            ends.append(self.run(statement.body, taken))
            env = refused
            rest = statement.orelse
            if len(rest) != 1 or type(rest[0]) is not ast.If:
                break
            statement = rest[0]
        ends.append(self.run(rest, env))
        return _join_environments(ends)

    def _for(self, statement: ast.For | ast.AsyncFor, env: Env) -> Env | None:
        iterated = self.value(statement.iter, env)

        def enter(current: Env) -> None:
            self.bind(statement.target, domain.iterated(iterated), statement.iter, current)

        return self._loop(statement, enter, env)

    def _while(self, statement: ast.While, env: Env) -> Env | None:
        def enter(current: Env) -> None:
            self.value(statement.test, current)

        return self._loop(statement, enter, env)

    def _loop(
        self, statement: ast.For | ast.AsyncFor | ast.While, enter: Callable[[Env], None], env: Env
    ) -> Env | None:
        # Inside a first pass a second one would only be repeated: passes would double with each level.
        passes = 1 if self.draft else 2
        outer_draft, start = self.draft, env
        exits: list[Env] = []
        end: Env | None = start
        for number in range(passes):
            self.draft = outer_draft or number + 1 < passes
            self.loop_exits.append([])
            current = dict(start)
            enter(current)
            end = self.run(statement.body, current)
            exits = self.loop_exits.pop()
            start = _join_environments([start, end, *exits]) or start
        self.draft = outer_draft
        return self.run(statement.orelse, start) if statement.orelse else start

    def _with(self, statement: ast.With | ast.AsyncWith, env: Env) -> Env | None:
        before = self.default_place
        for item in statement.items:
            value = self.value(item.context_expr, env)
            if value.kind is Kind.DEVICE:
                self.default_place = (
                    value.place if value.place is not Place.UNKNOWN else Place.LIKELY_ACCELERATOR
                )
            if item.optional_vars is not None:
                self.bind(item.optional_vars, self.entered(value), item.context_expr, env)
        end = self.run(statement.body, env)
        self.default_place = before
        return end

    def _try(self, statement: ast.Try, env: Env) -> Env | None:
        before = dict(env)
        end = self.run(statement.body, env)
        ends = [self.run(statement.orelse, end) if end is not None else None]
        for handler in statement.handlers:
            current = dict(_join_environments([dict(before), end]) or before)
            if handler.name:
                current[handler.name] = Binding(UNKNOWN, ())
            ends.append(self.run(handler.body, current))
        joined = _join_environments(ends)
        if statement.finalbody:
            # It runs also when nothing else comes to its end.
            after = self.run(statement.finalbody, joined if joined is not None else dict(before))
            return after if joined is not None else None
        return joined

    def _match(self, statement: ast.Match, env: Env) -> Env | None:
        self.value(statement.subject, env)
        ends: list[Env | None] = [dict(env)]
        for case in statement.cases:
            current = dict(env)
            current.update(dict.fromkeys(pattern_names(case.pattern), Binding(UNKNOWN, ())))
            if case.guard is not None:
                self.value(case.guard, current)
            ends.append(self.run(case.body, current))
        return _join_environments(ends)

    def _function(self, statement: ast.FunctionDef | ast.AsyncFunctionDef, env: Env) -> Env:
        """A nested function runs with the names that are known where it is defined."""
        self._signature(statement, env)
        if self.is_module:
            env.pop(statement.name, None)
            return env
        result = self.run_nested(statement, env)
        env[statement.name] = Binding(Value(Kind.CALLABLE, element=result), ())
        return env

    def _signature(self, statement: FunctionNode, env: Env) -> None:
        """Decorators and defaults, which run where the function is defined."""
        for part in [*statement.decorator_list, *statement.args.defaults, *statement.args.kw_defaults]:
            if part is not None:
                self.value(part, env)

    def run_nested(self, statement: ast.FunctionDef | ast.AsyncFunctionDef, env: Env) -> Value:
        kept = self.returned, self.loop_exits, self.default_place
        self.returned, self.loop_exits = [], []
        inner = dict(env)
        inner.update(self.parameters(statement))
        self.run(statement.body, inner)
        result = domain.join_all(self.returned) or domain.NONE
        self.returned, self.loop_exits, self.default_place = kept
        return result

    def _class(self, statement: ast.ClassDef, env: Env) -> Env:
        """A class body runs where it stands, but its names stay in it; its methods are units of their own."""
        inner = dict(env)
        for part in statement.body:
            if isinstance(part, FunctionNode):
                self._signature(part, inner)
            else:
                self._statement(part, inner)
        if self.is_module:
            env.pop(statement.name, None)
        return env


Part = TypeVar("Part")


def _part(parts: Sequence[Part] | None, place: int, wanted: int, star: int | None) -> Part | None:
    """The part at a place of what is unpacked to so many targets; None where that is not known."""
    if parts is None or any(isinstance(part, ast.Starred) for part in parts):
        return None
    fits = len(parts) == wanted if star is None else len(parts) >= wanted - 1
    return parts[place] if fits else None


def _join_environments(ends: list[Env | None]) -> Env | None:
    """What is known when several ways meet; a name that only some ways bind keeps the value it has there."""
    reached = [end for end in ends if end is not None]
    if not reached:
        return None
    joined = reached[0]
    for other in reached[1:]:
        if other is joined:
            continue
        held_in = joined.get
        differ = [item for item in other.items() if held_in(item[0]) is not item[1]]
        for name, binding in differ:
            held = held_in(name)
            joined[name] = binding if held is None else _join_bindings(held, binding)
    return joined


def _join_bindings(one: Binding, other: Binding) -> Binding:
    sources = one.sources
    if other.sources != sources:
        sources += tuple(source for source in other.sources if source not in sources)
    value = domain.join(one.value, other.value)
    # What stays one object need not be joined again where more ways meet: those out of a loop are many.
    return one if value is one.value and sources is one.sources else Binding(value, sources)


_RUN: dict[type[ast.stmt], Callable[..., Env | None]] = {
    ast.Assign: Flow._assign,
    ast.AnnAssign: Flow._annotated,
    ast.AugAssign: Flow._augmented,
    ast.Return: Flow._return,
    ast.Expr: Flow._expression,
    ast.Assert: Flow._other,
    ast.Raise: Flow._raise,
    ast.Break: Flow._leave_loop,
    ast.Continue: Flow._leave_loop,
    ast.Delete: Flow._delete,
    ast.Import: Flow._import,
    ast.ImportFrom: Flow._import,
    ast.If: Flow._if,
    ast.For: Flow._for,
    ast.AsyncFor: Flow._for,
    ast.While: Flow._while,
    ast.With: Flow._with,
    ast.AsyncWith: Flow._with,
    ast.Try: Flow._try,
    ast.Match: Flow._match,
    ast.FunctionDef: Flow._function,
    ast.AsyncFunctionDef: Flow._function,
    ast.ClassDef: Flow._class,
}
if hasattr(ast, "TryStar"):
    _RUN[ast.TryStar] = Flow._try
