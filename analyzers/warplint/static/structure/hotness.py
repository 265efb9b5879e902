"""How often each place of a module runs: from its loops and guards, through callers in the same file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.source.records import dataclass
from warplint.static.annotations import annotated
from warplint.static.finding import Hotness
from warplint.static.parsing.blocks import Block, BlockKind, CallSite, Effect, FunctionOutline
from warplint.static.parsing.tree import last_name, with_defaults
from warplint.static.role import Role
from warplint.static.structure import guards, roles
from warplint.static.structure.index import Caller, Index
from warplint.static.structure.loops import STEP_LOOPS, LoopKind, Loops
from warplint.static.tables import frequency, function_roles, torch_functions, torch_methods
from warplint.static.tables.class_roles import HOST_ROLES
from warplint.static.values import Kind, Value

if TYPE_CHECKING:
    from warplint.static.inference.revision import Revision

HOT_ROLES = frozenset({Role.FORWARD, Role.TRAIN_STEP, Role.EVALUATE, Role.GENERATE})
"""Functions that run every step, or hold the loop that does."""

# From rarely to often. Unknown stands between: of a set-up caller and an unknown one, unknown is right.
_ORDER = (Hotness.ONCE, Hotness.UNKNOWN, Hotness.EPOCH, Hotness.STEP)
_RANK = {hotness: rank for rank, hotness in enumerate(_ORDER)}

_STEP_CLASSES = frozenset({"module", "metric", "pipeline", "optimizer"})
"""Classes whose methods with a hot role are called from the step loop of others."""

_MODEL_CLASSES = frozenset({None, "module", "loss", "autograd function"})
"""Roles of classes whose methods that nobody calls here are run by models, as plain functions are."""

_MANY_CALLS = 2
"""Calls of functions that work on tensors, from which on a module's method is taken to be part of a step."""

_DATA_KEYWORDS = frozenset({"collate_fn", "transform", "target_transform", "worker_init_fn"})
"""Arguments that take functions which prepare data."""


@dataclass(frozen=True, slots=True)
class Heat:
    """How often something runs, with the phrase that says why."""

    hotness: Hotness
    why: str


class HotnessMap:
    """The roles and the heat of the functions and blocks of one version of a module.

    With a ``revision``, what it leaves alone is taken from the version before it. ``changed`` are then the
    functions that something is to be said of that was not said before.
    """

    def __init__(self, index: Index, revision: Revision | None = None) -> None:
        self._index = index
        self._loops = Loops(index)
        self._roles: dict[FunctionOutline, Role] = {}
        self._blocks: dict[Block, Heat] = {}
        before = revision.before.heat if revision is not None and revision.is_small else None
        # Of functions that run each other, what is said depends on which one was asked about first.
        if revision is None or before is None or before._loops.is_circular:
            before, known = None, dict[FunctionOutline, Heat]()
        else:
            known = self._kept(before, revision)
        self._own = {
            function: known.get(function) or self._own_heat(function) for function in index.all_functions
        }
        self._functions = dict(self._own)
        self._settle()
        self.changed = frozenset(
            function
            for function, heat in self._functions.items()
            if before is None or function not in known or heat != before._functions[function]
        )

    def _kept(self, before: HotnessMap, revision: Revision) -> dict[FunctionOutline, Heat]:
        """Take over what was found out about functions that the edit leaves alone; their own heat."""
        anew = revision.seen_anew
        self._loops.keep(before._loops, revision.doing_anew)
        known = {function: heat for function, heat in before._own.items() if function not in anew}
        self._roles = {function: before._roles[function] for function in known}
        return known

    # Roles

    def role(self, function: FunctionOutline) -> Role:
        """What a function is for: by name and class, corrected by what it does and who is handed it."""
        role = self._roles.get(function)
        if role is None:
            role = self._roles[function] = self._find_role(function)
        return role

    def _find_role(self, function: FunctionOutline) -> Role:
        role = roles.named_role(function, self._class_role(function))
        if any(_is_data_argument(caller) for caller in self._index.callers.get(function, ())):
            return Role.DATA
        if role is Role.DATA and self._class_role(function) not in HOST_ROLES and _promises_tensors(function):
            # Models prepare what is on the GPU already: ``preprocess(indices: Tensor) -> Tensor``.
            role = Role.OTHER
        if role not in {Role.OTHER, Role.SCRIPT}:
            return role
        if any(self._loops.kind(loop) is LoopKind.TRAINING for loop in function.loops):
            return Role.TRAIN_STEP
        if role is Role.OTHER and self._loops.is_training_step(function):
            return Role.TRAIN_STEP
        if role is Role.OTHER and function.outer is not None:
            return self.role(function.outer)
        return role

    def _class_role(self, function: FunctionOutline) -> str | None:
        owner = self._index.owner(function)
        return self._index.class_roles.role(owner) if owner is not None else None

    # Functions

    def _own_heat(self, function: FunctionOutline) -> Heat:
        """The heat a function has by itself, before its callers are asked."""
        role, where = self.role(function), f"in {function.qualname}"
        if _runs_once(function) or role in {Role.SETUP, Role.SCRIPT}:
            return Heat(Hotness.ONCE, where)
        if role is Role.DATA:
            in_loader = self._class_role(function) in HOST_ROLES
            return Heat(Hotness.STEP if in_loader else Hotness.UNKNOWN, where)
        if role in HOT_ROLES:
            return Heat(self._hot(function, role), where)
        if role is Role.OTHER and function not in self._index.callers:
            is_for_models = _is_for_models(function, self._class_role(function))
            return Heat(Hotness.STEP if is_for_models else Hotness.UNKNOWN, where)
        return Heat(Hotness.UNKNOWN, where)

    def _hot(self, function: FunctionOutline, role: Role) -> Hotness:
        """How often a function with a hot role runs: once a step, or around the loop that does."""
        kinds = {self._loops.kind(loop) for loop in function.loops} - {LoopKind.PLAIN}
        if role is Role.FORWARD and kinds <= {LoopKind.INFERENCE}:
            # A model's forward pass that runs another for each of its parts is a step all the same.
            return Hotness.STEP
        if kinds:
            # A step may take its batch in parts: the loop over them is no loop over steps.
            return Hotness.STEP if function_roles.ONE_STEP.fullmatch(function.name) else Hotness.EPOCH
        if self._loops.is_training_step(function):
            return Hotness.STEP
        if self._class_role(function) in _STEP_CLASSES and not _holds_training(function.name):
            return Hotness.STEP
        return Hotness.EPOCH if role is Role.EVALUATE else Hotness.UNKNOWN

    def _settle(self) -> None:
        """Let heat flow along calls until nothing changes; there are few degrees, so that is soon."""
        callers = self._index.callers
        moving = [
            function
            for function in self._functions
            if (function in callers or function.outer is not None) and not _runs_once(function)
        ]
        for _ in range(2 * len(_ORDER)):
            settled = {function: self._flow(function) for function in moving}
            changed = any(heat != self._functions[function] for function, heat in settled.items())
            self._functions.update(settled)
            self._blocks = {}
            if not changed:
                break

    def _flow(self, function: FunctionOutline) -> Heat:
        own = self._own[function]
        heats = [self._caller_heat(caller, function) for caller in self._index.callers.get(function, ())]
        if not heats:
            # A closure runs where it is made, as far as anyone can see.
            return self.block(function.defined_in) if function.outer is not None else own
        hottest = max(heats, key=lambda heat: _RANK[heat.hotness])
        if own.hotness is Hotness.ONCE or _RANK[hottest.hotness] > _RANK[own.hotness]:
            return hottest
        is_helper = own.hotness is Hotness.UNKNOWN and hottest.hotness is Hotness.ONCE
        return hottest if is_helper else own

    def _caller_heat(self, caller: Caller, function: FunctionOutline) -> Heat:
        site, where = caller.site, f"in {function.qualname}"
        if site.handed_over and frequency.LATER.fullmatch(last_name(site.node.func)):
            return Heat(Hotness.UNKNOWN, where)
        heat = self.block(site.block)
        origin = f"from {caller.function.qualname}" if caller.function else heat.why
        return Heat(heat.hotness, f"{where}, called {origin}")

    # Blocks

    def block(self, block: Block) -> Heat:
        """How often a block runs."""
        heat = self._blocks.get(block)
        if heat is None:
            heat = self._blocks[block] = self._find(block)
        return heat

    def _find(self, block: Block) -> Heat:
        if block.kind is BlockKind.FUNCTION and block.function is not None:
            return self._functions[block.function]
        if block.parent is None:
            return Heat(Hotness.ONCE, "at module level")
        around = self.block(block.parent)
        if block.kind is BlockKind.LOOP:
            return self._in_loop(block, around)
        return _lowered(block, around)

    def _in_loop(self, loop: Block, around: Heat) -> Heat:
        kind = self._loops.kind(loop)
        if kind in STEP_LOOPS:
            evaluates = loop.function is not None and self.role(loop.function) is Role.EVALUATE
            named = "in the evaluation loop" if evaluates and kind is LoopKind.BATCHES else kind.value
            return Heat(Hotness.STEP, named)
        if kind is LoopKind.EPOCH and around.hotness is not Hotness.STEP:
            return Heat(Hotness.EPOCH, kind.value)
        return around


def _lowered(block: Block, around: Heat) -> Heat:
    """The heat of a branch or handler."""
    effect = guards.effect_of(block)
    if effect in (Effect.ONCE, Effect.NEVER, Effect.ON_CPU):
        return Heat(Hotness.ONCE, effect.value)
    if effect is Effect.SPARSE and around.hotness is Hotness.STEP:
        return Heat(Hotness.EPOCH, "now and then")
    return around


def _runs_once(function: FunctionOutline) -> bool:
    return roles.is_construction(function) or roles.is_cached(function)


def _holds_training(name: str) -> bool:
    """Whether a name says that a training runs in a function, not that it is one step: ``fit``."""
    return function_roles.TRAIN.fullmatch(name) is not None and not function_roles.OF_ONE.fullmatch(name)


def _is_for_models(function: FunctionOutline, class_role: str | None) -> bool:
    """Whether a function that nobody calls here takes and gives tensors: part of a library for models."""
    if _promises_tensors(function):
        return True
    gives = function.node.body[-1]
    while isinstance(gives, ast.With):
        gives = gives.body[-1]
    if function.outer is not None or not isinstance(gives, ast.Return) or gives.value is None:
        return False
    if class_role not in _MODEL_CLASSES or _holds_others(annotated(function.node.returns)):
        return False
    if class_role == roles.MODULE and sum(map(_works_with_torch, function.calls)) >= _MANY_CALLS:
        return True
    given = {argument.arg for argument, _ in with_defaults(function.node.args)}
    return any(site.base in given and site.name in torch_methods.TENSOR_ONLY for site in function.calls)


def _works_with_torch(site: CallSite) -> bool:
    return site.base in {"torch", "F"} and site.name in torch_functions.TAKES_TENSOR


def _promises_tensors(function: FunctionOutline) -> bool:
    """Whether annotations say that a function takes and gives tensors."""
    if not _holds_tensors(annotated(function.node.returns)):
        return False
    return any(annotated(argument.annotation).is_tensor for argument, _ in with_defaults(function.node.args))


def _holds_others(value: Value) -> bool:
    return value.kind is not Kind.UNKNOWN and not _holds_tensors(value)


def _holds_tensors(value: Value) -> bool:
    return value.is_tensor or (value.element is not None and value.element.is_tensor)


def _is_data_argument(caller: Caller) -> bool:
    """Whether the function is handed to a loader or data set, as its ``collate_fn`` or transform."""
    if not caller.site.handed_over:
        return False
    words = caller.site.node.keywords
    return any(word.arg in _DATA_KEYWORDS and last_name(word.value) == caller.site.name for word in words)
