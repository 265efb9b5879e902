"""What one walk over a chunk finds: functions, classes, blocks, calls, conditions, imports.

An outline depends on the chunk's text alone, so it is made once and kept with the chunk.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from warplint.static.parsing.blocks import Block, BlockKind, CallSite, ClassOutline, FunctionOutline, Import
from warplint.static.parsing.tree import PARTS, FunctionNode, below, dotted, last_name
from warplint.static.tables.conditions import PLAIN_CALLS


class Outline:
    """See the module.

    ``blocks`` maps each statement, call, condition, formatted value and noted subscript to the block it runs
    in, ``rounds`` each loop to the block of its rounds. ``subscripts`` are those whose index is no literal.
    ``settings`` are targets of assignments by the last part of their name: ``a.b.c = …``, ``a.b["c"] = …``.
    ``added`` is what is added to a name or attribute: ``v`` in ``x += v`` and ``x = x + v``.
    ``local_names`` are all names that something below module level binds.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.top = Block(BlockKind.TOP, tree, None, None)
        self.blocks: dict[ast.AST, Block] = {}
        self.rounds: dict[ast.AST, Block] = {}
        self.functions: list[FunctionOutline] = []
        self.by_node: dict[ast.AST, FunctionOutline] = {}
        self.classes: list[ClassOutline] = []
        self.imports: list[Import] = []
        self.calls: list[CallSite] = []
        self.loops: list[Block] = []
        self.conditions: list[ast.expr] = []
        self.formats: list[ast.expr] = []
        self.subscripts: list[ast.Subscript] = []
        self.settings: dict[str, list[ast.Attribute | ast.Subscript]] = {}
        self.added: list[ast.expr] = []
        self.globals: dict[str, list[ast.stmt]] = {}
        self.local_names: set[str] = set()
        self.has_lambda = False
        self._class: ClassOutline | None = None
        self._tests: set[ast.AST] = set()
        self._statements(tree.body, self.top)

    @cached_property
    def parts(self) -> frozenset[object]:
        """All that questions about this chunk can be about."""
        bodies = [function.body for function in self.functions]
        blocks = [self.top, *self.blocks.values(), *self.rounds.values(), *bodies]
        return frozenset([*blocks, *self.functions, *self.classes])

    def _statements(self, body: list[ast.stmt], block: Block) -> None:
        for statement in body:
            self.blocks[statement] = block
            visit = _VISIT.get(type(statement))
            if visit is None:
                self._simple(statement, block)
            else:
                visit(self, statement, block)
            if type(statement) is ast.If and not statement.orelse and _leaves(statement.body):
                block = Block(BlockKind.REFUSED, statement, block, block.function, _leaves(body))

    def _simple(self, statement: ast.stmt, block: Block) -> None:
        parts = PARTS[type(statement)]
        for value in parts(statement) if parts is not None else ():
            if value is not None:
                self._expressions(value if isinstance(value, list) else [value], block)

    def _assignment(self, statement: ast.stmt, block: Block) -> None:
        assert isinstance(statement, _ASSIGNMENTS)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            self._target(target, statement, block)
        if statement.value is not None:
            added = _added(statement)
            if added is not None and type(added) not in _LITERALS:
                self.added.append(added)
                self.blocks[added] = block
            self._expressions([statement.value], block)

    def _target(self, target: ast.expr, statement: ast.stmt, block: Block) -> None:
        if type(target) is ast.Name:
            if block.function is None and self._class is None:
                self.globals.setdefault(target.id, []).append(statement)
            else:
                self.local_names.add(target.id)
                if block.function is not None:
                    block.function.assigned.add(target.id)
        elif isinstance(target, ast.Attribute):
            self._store(target, statement, block)
            self._setting(target.attr, target, statement, block)
            self._expressions([target.value], block)
        elif type(target) is ast.Tuple or type(target) is ast.List:
            for element in target.elts:
                self._target(element, statement, block)
        elif isinstance(target, ast.Starred):
            self._target(target.value, statement, block)
        else:
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                self._setting(target.slice.value, target, statement, block)
            self._expressions([target], block)

    def _setting(
        self, name: object, target: ast.Attribute | ast.Subscript, statement: ast.stmt, block: Block
    ) -> None:
        """Note what a value is assigned to; a bare annotation assigns none."""
        owner = target.value
        is_own = isinstance(owner, ast.Name) and owner.id == "self"
        if isinstance(name, str) and not is_own and getattr(statement, "value", None) is not None:
            self.settings.setdefault(name, []).append(target)
            self.blocks[target] = block

    def _store(self, target: ast.Attribute, statement: ast.stmt, block: Block) -> None:
        function = block.function
        owner = function.class_ if function is not None else None
        if owner is None or function is None or not isinstance(target.value, ast.Name):
            return
        owner.stores.setdefault(target.attr, set()).add(function.name)
        value = getattr(statement, "value", None)
        if not isinstance(value, _SETTINGS) and not (isinstance(value, ast.Call) and _makes_object(value)):
            owner.computed.add(target.attr)

    def _import(self, statement: ast.stmt, block: Block) -> None:
        assert isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias, target in imported(statement).items():
            self.imports.append(Import(alias, target, block.function))
            if block.function is not None:
                self.local_names.add(alias)

    def _function(self, statement: ast.stmt, block: Block) -> None:
        assert isinstance(statement, FunctionNode)
        owner = self._class
        outer = block.function
        prefix = f"{owner.name}." if owner else f"{outer.qualname}." if outer else ""
        function = FunctionOutline(statement.name, prefix + statement.name, statement, owner, outer, block)
        self.functions.append(function)
        self.by_node[statement] = function
        if owner is not None:
            owner.methods[statement.name] = function
        elif outer is None:
            self.globals.setdefault(statement.name, []).append(statement)
        else:
            self.local_names.add(statement.name)
        arguments = statement.args
        self._parameters(arguments)
        defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        self._expressions([*statement.decorator_list, *defaults], block)
        inside = Block(BlockKind.FUNCTION, statement, block, function)
        function.body = inside
        self._class, kept = None, self._class
        self._statements(statement.body, inside)
        self._class = kept

    def _parameters(self, arguments: ast.arguments) -> None:
        plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        extra = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
        self.local_names.update(argument.arg for argument in [*plain, *extra])

    def _class_statement(self, statement: ast.stmt, block: Block) -> None:
        assert isinstance(statement, ast.ClassDef)
        self._expressions([*statement.decorator_list, *statement.bases], block)
        if block.function is None and self._class is None:
            self.globals.setdefault(statement.name, []).append(statement)
        else:
            self.local_names.add(statement.name)
        name = f"{self._class.name}.{statement.name}" if self._class else statement.name
        owner = ClassOutline(name, statement, block.function)
        self.classes.append(owner)
        self._class, kept = owner, self._class
        self._statements(statement.body, block)
        self._class = kept

    def _if(self, statement: ast.stmt, block: Block) -> None:
        # ``elif`` chains are walked level by level: generated ones are deeper than Python's stack.
        while True:
            assert isinstance(statement, ast.If)
            self._condition(statement.test, block)
            self._expressions([statement.test], block)
            self._inner(statement.body, BlockKind.TAKEN, statement, block)
            rest = statement.orelse
            if len(rest) != 1 or type(rest[0]) is not ast.If:
                break
            block = Block(BlockKind.REFUSED, statement, block, block.function)
            statement = rest[0]
            self.blocks[statement] = block
        if rest:
            self._inner(rest, BlockKind.REFUSED, statement, block)

    def _inner(self, body: list[ast.stmt], kind: BlockKind, node: ast.AST, block: Block) -> Block:
        inner = Block(kind, node, block, block.function, _leaves(body))
        self._statements(body, inner)
        return inner

    def _loop(self, statement: ast.stmt, block: Block) -> None:
        assert isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
        loop = Block(BlockKind.LOOP, statement, block, block.function)
        self.rounds[statement] = loop
        self.loops.append(loop)
        if block.function is not None:
            block.function.loops.append(loop)
        if isinstance(statement, ast.While):
            self._condition(statement.test, loop)
            self._expressions([statement.test], loop)
        else:
            self._target(statement.target, statement, block)
            self._expressions([statement.iter], block)
        self._statements(statement.body, loop)
        self._statements(statement.orelse, block)

    def _with(self, statement: ast.stmt, block: Block) -> None:
        assert isinstance(statement, (ast.With, ast.AsyncWith))
        for item in statement.items:
            self._expressions([item.context_expr], block)
            if item.optional_vars is not None:
                self._target(item.optional_vars, statement, block)
        self._statements(statement.body, block)

    def _try(self, statement: ast.stmt, block: Block) -> None:
        self._statements(getattr(statement, "body"), block)  # noqa: B009
        for handler in statement.handlers:  # type: ignore[attr-defined]
            if handler.name is not None:
                self.local_names.add(handler.name)
            self._inner(handler.body, BlockKind.HANDLER, handler, block)
        self._statements(statement.orelse, block)  # type: ignore[attr-defined]
        self._statements(statement.finalbody, block)  # type: ignore[attr-defined]

    def _match(self, statement: ast.stmt, block: Block) -> None:
        assert isinstance(statement, ast.Match)
        self._expressions([statement.subject], block)
        for case in statement.cases:
            self.local_names.update(pattern_names(case.pattern))
            if case.guard is not None:
                self._condition(case.guard, block)
                self._expressions([case.guard], block)
            self._statements(case.body, block)

    def _assert(self, statement: ast.stmt, block: Block) -> None:
        assert isinstance(statement, ast.Assert)
        self._condition(statement.test, block)
        self._simple(statement, block)

    def _condition(self, test: ast.expr, block: Block) -> None:
        """Note an expression whose truth is asked for; of ``and``, ``or`` and ``not``, the operands."""
        if isinstance(test, ast.BoolOp):
            self._tests.add(test)
        elif not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            self.conditions.append(test)
            self.blocks[test] = block

    def _expressions(self, roots: Iterable[ast.AST], block: Block) -> None:
        stack: list[Any] = list(roots)
        while stack:
            node = stack.pop()
            kind = type(node)
            parts = PARTS[kind]
            if parts is None:
                continue
            note = _NOTE.get(kind)
            if note is not None:
                note(self, node, block)
            for value in parts(node):
                if type(value) is list:
                    stack += value
                elif value is not None:
                    stack.append(value)

    def _boolean(self, node: ast.BoolOp, block: Block) -> None:
        # The last operand of a mere value ``a or b`` is not asked for its truth.
        for operand in node.values if node in self._tests else node.values[:-1]:
            self._condition(operand, block)

    def _unary(self, node: ast.UnaryOp, block: Block) -> None:
        if isinstance(node.op, ast.Not):
            self._condition(node.operand, block)

    def _choice(self, node: ast.IfExp, block: Block) -> None:
        self._condition(node.test, block)

    def _comprehension(self, node: ast.comprehension, block: Block) -> None:
        for name in below(node.target):
            if isinstance(name, ast.Name):
                self.local_names.add(name.id)
        for test in node.ifs:
            self._condition(test, block)

    def _format(self, node: ast.FormattedValue, block: Block) -> None:
        self.formats.append(node.value)
        self.blocks[node.value] = block

    def _subscript(self, node: ast.Subscript, block: Block) -> None:
        if type(node.slice) not in _LITERALS:
            self.subscripts.append(node)
            self.blocks[node] = block

    def _walrus(self, node: ast.NamedExpr, block: Block) -> None:
        self.local_names.add(node.target.id)

    def _lambda(self, node: ast.Lambda, block: Block) -> None:
        self.has_lambda = True
        self._parameters(node.args)

    def _call(self, node: ast.Call, block: Block) -> None:
        self.blocks[node] = block
        sites = []
        function = node.func
        if type(function) is ast.Name:
            sites.append(CallSite(function.id, "", node, block))
        elif type(function) is ast.Attribute:
            base = function.value
            if function.attr in _REGISTERING:
                self._registered(node, block)
            sites.append(CallSite(function.attr, base.id if type(base) is ast.Name else None, node, block))
        for argument in node.args:
            _note_handed_over(argument, node, block, sites)
        for keyword in node.keywords:
            _note_handed_over(keyword.value, node, block, sites)
        self.calls += sites
        if block.function is not None:
            block.function.calls += sites

    def _registered(self, call: ast.Call, block: Block) -> None:
        owner = block.function.class_ if block.function is not None else None
        name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        if owner is not None and isinstance(name, str):
            owner.computed.add(name)


def _note_handed_over(argument: ast.expr, call: ast.Call, block: Block, sites: list[CallSite]) -> None:
    if type(argument) is ast.Name:
        sites.append(CallSite(argument.id, "", call, block, True))
    elif type(argument) is ast.Attribute:
        base = argument.value
        if type(base) is ast.Name and base.id == "self":
            sites.append(CallSite(argument.attr, "self", call, block, True))


def imported(statement: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """The names an import statement binds, each with what it stands for; relative ones start with a dot."""
    if isinstance(statement, ast.Import):
        # ``import a.b`` binds ``a``; with ``as`` it binds the whole.
        return {
            name.asname or name.name.partition(".")[0]: name.name
            if name.asname
            else name.name.partition(".")[0]
            for name in statement.names
        }
    package = "." * statement.level + (f"{statement.module}." if statement.module else "")
    return {name.asname or name.name: package + name.name for name in statement.names}


def pattern_names(pattern: ast.pattern) -> Iterator[str]:
    """The names that a ``case`` binds."""
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            yield name


def _added(statement: ast.Assign | ast.AugAssign | ast.AnnAssign) -> ast.expr | None:
    """What a statement adds to what it assigns to."""
    if type(statement) is ast.AugAssign:
        return statement.value if type(statement.op) is ast.Add else None
    value = statement.value
    if type(value) is not ast.BinOp or type(value.op) is not ast.Add or not isinstance(statement, ast.Assign):
        return None
    before, target = value.left, statement.targets[0]
    is_same = type(before) in _ACCUMULATORS and dotted(before) == dotted(target)
    return value.right if is_same and type(target) in _ACCUMULATORS else None


def _leaves(body: list[ast.stmt]) -> str | None:
    return _LEAVING.get(type(body[-1])) if body else None


_SETTINGS = (ast.Constant, ast.Name, ast.Compare, ast.BoolOp, ast.JoinedStr, ast.Lambda, ast.List, ast.Dict)
_ASSIGNMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign)
_LITERALS = (ast.Constant, ast.JoinedStr)
_ACCUMULATORS = (ast.Name, ast.Attribute)
_REGISTERING = frozenset({"register_buffer", "register_parameter"})


def _makes_object(call: ast.Call) -> bool:
    """Whether a call gives a Python object or module by its name: ``len(x)``, ``nn.Linear(…)``."""
    name = last_name(call)
    is_class = name[:1].isupper() and not name.endswith(("Parameter", "Buffer", "Tensor"))
    return is_class or name in PLAIN_CALLS


_LEAVING: dict[type[ast.stmt], str] = {
    ast.Break: "break",
    ast.Continue: "continue",
    ast.Raise: "raise",
    ast.Return: "return",
}

_VISIT = {
    ast.Assign: Outline._assignment,
    ast.AugAssign: Outline._assignment,
    ast.AnnAssign: Outline._assignment,
    ast.Import: Outline._import,
    ast.ImportFrom: Outline._import,
    ast.FunctionDef: Outline._function,
    ast.AsyncFunctionDef: Outline._function,
    ast.ClassDef: Outline._class_statement,
    ast.If: Outline._if,
    ast.For: Outline._loop,
    ast.AsyncFor: Outline._loop,
    ast.While: Outline._loop,
    ast.With: Outline._with,
    ast.AsyncWith: Outline._with,
    ast.Try: Outline._try,
    ast.Match: Outline._match,
    ast.Assert: Outline._assert,
}

_NOTE: dict[type[ast.AST], Callable[..., None]] = {
    ast.Call: Outline._call,
    ast.BoolOp: Outline._boolean,
    ast.UnaryOp: Outline._unary,
    ast.IfExp: Outline._choice,
    ast.comprehension: Outline._comprehension,
    ast.FormattedValue: Outline._format,
    ast.Subscript: Outline._subscript,
    ast.NamedExpr: Outline._walrus,
    ast.Lambda: Outline._lambda,
}

if hasattr(ast, "TryStar"):
    _VISIT[ast.TryStar] = Outline._try
