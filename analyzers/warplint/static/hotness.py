"""How often each place of a module runs: from its loops and guards, through callers in the same file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from warplint.static import guards, roles
from warplint.static.finding import Hotness
from warplint.static.index import Caller, Index, functions_around
from warplint.static.outline import Block, BlockKind, CallSite, FunctionOutline
from warplint.static.role import Role
from warplint.static.tables import frequency
from warplint.static.tables.class_roles import HOST_ROLES

HOT_ROLES = frozenset({Role.FORWARD, Role.TRAIN_STEP, Role.EVALUATE, Role.GENERATE})

# From rarely to often. Unknown stands between: where one caller is set-up and another unknown, unknown is right.
_ORDER = (Hotness.ONCE, Hotness.UNKNOWN, Hotness.EPOCH, Hotness.STEP)
_RANK = {hotness: rank for rank, hotness in enumerate(_ORDER)}


@dataclass(frozen=True, slots=True)
class Heat:
    """How often something runs, with the phrase that says why."""

    hotness: Hotness
    why: str


class HotnessMap:
    """The heat of every block and function of one version of a module."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._roles: dict[FunctionOutline, Role] = {}
        self._steps: dict[FunctionOutline, bool] = {}
        self._loops: dict[Block, str | None] = {}
        self._function_heat: dict[FunctionOutline, Heat] = {}
        self._block_heat: dict[Block, Heat] = {}
        self._settle()

    # Roles

    def role(self, function: FunctionOutline) -> Role:
        """What a function is for: by name and class, corrected by what it does and who calls it."""
        role = self._roles.get(function)
        if role is None:
            self._roles[function] = Role.OTHER
            role = self._roles[function] = self._find_role(function)
        return role

    def _find_role(self, function: FunctionOutline) -> Role:
        owner = self._index.owner(function)
        class_role = self._index.class_roles.role(owner) if owner else None
        role = roles.named_role(function, class_role)
        if function.outer is not None and role is Role.OTHER:
            return self.role(function.outer)
        if role in {Role.OTHER, Role.SCRIPT} and any(
            self._loop_kind(loop) == "training" for loop in function.loops
        ):
            return Role.TRAIN_STEP
        if role is Role.OTHER and self.steps(function):
            return Role.TRAIN_STEP
        if self._is_collate(function):
            return Role.DATA
        return role

    def _is_collate(self, function: FunctionOutline) -> bool:
        """Whether the function is handed to a loader as ``collate_fn`` or to a dataset as a transform."""
        for caller in self._index.callers.get(function, ()):
            if caller.site.handed_over:
                for keyword in caller.site.node.keywords:
                    if keyword.arg in {"collate_fn", "transform", "worker_init_fn"} and _names(
                        keyword.value, function.name
                    ):
                        return True
        return False

    # Loops

    def steps(self, function: FunctionOutline) -> bool:
        """Whether one run of the function is one training step: it runs backward outside any step loop."""
        known = self._steps.get(function)
        if known is None:
            self._steps[function] = False
            known = self._steps[function] = any(
                _loop_around(site.block) is None and self._marks_step(site) for site in function.calls
            )
        return known

    def _marks_step(self, site: CallSite) -> bool:
        if site.handed_over:
            return False
        if site.name in frequency.BACKWARD:
            return site.base not in {"self", "super"} or site.name == "manual_backward"
        if site.name == "step":
            called_on = site.node.func
            base = _last_name(called_on.value) if isinstance(called_on, ast.Attribute) else ""
            return frequency.OPTIMIZER.fullmatch(base) is not None
        return any(
            self.steps(target) for target in self._index.targets(site) if target is not site.block.function
        )

    def _loop_kind(self, loop: Block) -> str | None:
        """``training``, ``loader``, ``decoding`` for a loop that runs once a step; ``epoch`` around one; None."""
        if loop not in self._loops:
            self._loops[loop] = None
            self._loops[loop] = self._find_loop_kind(loop)
        return self._loops[loop]

    def _find_loop_kind(self, loop: Block) -> str | None:
        sites = [site for site in self._sites_around(loop) if _is_inside(site.block, loop)]
        direct = [
            site for site in sites if _counting_loop(site.block) is loop or _loop_around(site.block) is loop
        ]
        if any(self._marks_step(site) for site in direct):
            return "training"
        if _iterates_loader(loop.node):
            return "loader"
        inner = [other for other in self._loops_around(loop) if other is not loop and _is_inside(other, loop)]
        if any(self._loop_kind(other) is not None for other in inner):
            return "epoch"
        if any(self._trains(target) for site in sites for target in self._called(site)):
            return "epoch"
        function = loop.function
        generates = function is not None and roles.named_role(function, None) is Role.GENERATE
        if generates and any(self._runs_model(site) for site in direct):
            return "decoding"
        if (function is None or not self._is_setup(function)) and any(map(_calls_model, direct)):
            return "inference"
        return None

    def _is_setup(self, function: FunctionOutline) -> bool:
        return roles.named_role(function, None) in {Role.SETUP, Role.DATA}

    def _called(self, site: CallSite) -> list[FunctionOutline]:
        return (
            [] if site.handed_over else [t for t in self._index.targets(site) if t is not site.block.function]
        )

    def _trains(self, function: FunctionOutline) -> bool:
        return any(self._loop_kind(loop) in {"training", "loader"} for loop in function.loops)

    def _runs_model(self, site: CallSite) -> bool:
        return _calls_model(site) or (site.base == "" and site.name == "self") or site.base == "self"

    def _sites_around(self, loop: Block) -> list[CallSite]:
        if loop.function is not None:
            return loop.function.calls
        return [site for site in self._index.calls if site.block.function is None]

    def _loops_around(self, loop: Block) -> list[Block]:
        if loop.function is not None:
            return loop.function.loops
        return [
            other
            for placed in self._index.chunks
            for other in placed.chunk.outline.loops
            if other.function is None
        ]

    # Heat

    def _settle(self) -> None:
        """Let heat flow along calls until nothing changes; the lattice is low, so that is soon."""
        functions = self._index.all_functions
        self._own = {function: self._own_heat(function) for function in functions}
        self._function_heat = dict(self._own)
        for _ in range(len(_ORDER) * 2):
            self._block_heat = {}
            settled = {function: self._flow(function) for function in functions}
            if all(
                settled[function].hotness is self._function_heat[function].hotness for function in functions
            ):
                self._function_heat = settled
                break
            self._function_heat = settled
        self._block_heat = {}

    def _own_heat(self, function: FunctionOutline) -> Heat:
        """The heat a function has by itself, before its callers are asked."""
        role = self.role(function)
        where = f"in {function.qualname}"
        if roles.is_construction(function) or roles.is_cached(function):
            return Heat(Hotness.ONCE, where)
        if role is Role.SETUP:
            return Heat(Hotness.ONCE, where)
        owner = self._index.owner(function)
        class_role = self._index.class_roles.role(owner) if owner else None
        if class_role in HOST_ROLES and role is Role.DATA:
            return Heat(Hotness.STEP, where)
        if role in HOT_ROLES and not self._has_step_loop(function):
            return Heat(Hotness.STEP, where)
        if role is Role.SCRIPT:
            return Heat(Hotness.ONCE, where)
        return Heat(Hotness.UNKNOWN, where)

    def _has_step_loop(self, function: FunctionOutline) -> bool:
        return any(self._loop_kind(loop) is not None for loop in function.loops)

    def _flow(self, function: FunctionOutline) -> Heat:
        own = self._own[function]
        if roles.is_construction(function) or roles.is_cached(function):
            return own
        callers = self._index.callers.get(function, [])
        heats = [self._caller_heat(caller, function) for caller in callers]
        if function.outer is not None and not heats:
            # A closure runs where it is made, as far as anyone can see.
            return Heat(self.block(function.defined_in).hotness, own.why)
        if not heats:
            return self._uncalled(function, own)
        hottest = max(heats, key=lambda heat: _RANK[heat.hotness])
        if own.hotness is Hotness.ONCE:
            return hottest
        return own if _RANK[own.hotness] > _RANK[hottest.hotness] or own.hotness is Hotness.STEP else hottest

    def _uncalled(self, function: FunctionOutline, own: Heat) -> Heat:
        if own.hotness is Hotness.UNKNOWN and self.role(function) in HOT_ROLES:
            # It has the step loop inside: each run of it is an epoch or more.
            return Heat(Hotness.EPOCH, own.why)
        return own

    def _caller_heat(self, caller: Caller, function: FunctionOutline) -> Heat:
        heat = self.block(caller.site.block)
        called = caller.site
        if called.handed_over and frequency.LATER.fullmatch(_last_name(called.node.func)):
            return Heat(Hotness.UNKNOWN, f"in {function.qualname}")
        where = caller.function.qualname if caller.function else None
        phrase = f"in {function.qualname}" + (f", called from {where}" if where else f", called {heat.why}")
        return Heat(heat.hotness, phrase)

    def function(self, function: FunctionOutline) -> Heat:
        return self._function_heat[function]

    def block(self, block: Block) -> Heat:
        heat = self._block_heat.get(block)
        if heat is None:
            heat = self._block_heat[block] = self._find_block_heat(block)
        return heat

    def _find_block_heat(self, block: Block) -> Heat:
        if block.kind is BlockKind.FUNCTION:
            assert block.function is not None
            return self._function_heat[block.function]
        if block.parent is None:
            return Heat(Hotness.ONCE, "at module level")
        around = self.block(block.parent)
        if block.kind is BlockKind.LOOP:
            return self._loop_heat(block, around)
        return self._lowered(block, around)

    def _loop_heat(self, loop: Block, around: Heat) -> Heat:
        kind = self._loop_kind(loop)
        if kind in _LOOP_PHRASES:
            function = loop.function
            evaluates = kind == "loader" and function is not None and self.role(function) is Role.EVALUATE
            return Heat(Hotness.STEP, "in the evaluation loop" if evaluates else _LOOP_PHRASES[kind])
        if kind == "epoch" and around.hotness is not Hotness.STEP:
            return Heat(Hotness.EPOCH, "in the epoch loop")
        return around

    def _lowered(self, block: Block, around: Heat) -> Heat:
        if block.leaves == "raise":
            return Heat(Hotness.ONCE, "before an exception")
        rare = block.kind is BlockKind.HANDLER or block.leaves == "break"
        found = guards.Effect.SPARSE if rare else guards.Effect.NONE
        if isinstance(block.node, ast.If):
            taken = block.kind is BlockKind.TAKEN
            statement = block.node
            body = statement.body if taken else statement.orelse
            by_test = guards.effect(statement, taken, body or self._rest(block))
            found = by_test if by_test is not guards.Effect.NONE else found
        if found is guards.Effect.ONCE:
            return Heat(Hotness.ONCE, "the first time only")
        if found is guards.Effect.SPARSE and around.hotness is Hotness.STEP:
            return Heat(Hotness.EPOCH, "now and then")
        return around

    def _rest(self, block: Block) -> list[ast.stmt]:
        """The statements of the function that follow an ``if`` which leaves it."""
        return list(block.function.node.body) if block.function is not None else []


_LOOP_PHRASES = {
    "training": "in the training loop",
    "loader": "in the loop over batches",
    "decoding": "in the decoding loop",
    "inference": "in the loop that runs the model",
}


def _loop_around(block: Block | None) -> Block | None:
    """The innermost loop around a block within its function."""
    while block is not None and block.kind is not BlockKind.FUNCTION:
        if block.kind is BlockKind.LOOP:
            return block
        block = block.parent
    return None


def _counting_loop(block: Block) -> Block | None:
    """The innermost loop that counts steps: loops over a collection of losses or optimizers are passed by."""
    loop = _loop_around(block)
    while loop is not None:
        node = loop.node
        if isinstance(node, ast.While) or _counts(node) or _iterates_loader(node):
            return loop
        loop = _loop_around(loop.parent)
    return None


def _counts(node: ast.AST) -> bool:
    return isinstance(node, ast.For | ast.AsyncFor) and any(
        _last_name(inner.func) in frequency.COUNTING
        for inner in _wrapped(node.iter)
        if isinstance(inner, ast.Call)
    )


def _iterates_loader(node: ast.AST) -> bool:
    if not isinstance(node, ast.For | ast.AsyncFor):
        return False
    return any(frequency.LOADER.fullmatch(_last_name(inner)) for inner in _wrapped(node.iter))


def _wrapped(iterated: ast.expr) -> Iterator[ast.expr]:
    """What a loop iterates, and what stands inside ``enumerate``, ``tqdm`` and their like."""
    yield iterated
    if isinstance(iterated, ast.Call):
        name = _last_name(iterated.func)
        if name in frequency.WRAPPERS:
            for argument in iterated.args:
                yield from _wrapped(argument)
        elif isinstance(iterated.func, ast.Attribute):
            yield from _wrapped(iterated.func.value)


def _calls_model(site: CallSite) -> bool:
    return not site.handed_over and site.base in {"", "self"} and bool(frequency.MODEL.fullmatch(site.name))


def _is_inside(block: Block | None, outer: Block) -> bool:
    while block is not None:
        if block is outer:
            return True
        block = block.parent
    return False


def _last_name(node: ast.expr) -> str:
    """``optimizer`` for ``self.optimizer.step``'s base, ``tqdm`` for ``tqdm.tqdm``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    return node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (
        isinstance(node, ast.Attribute) and node.attr == name
    )


__all__ = ["Heat", "HotnessMap", "functions_around"]
