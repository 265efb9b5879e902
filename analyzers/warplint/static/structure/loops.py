"""What loops are for: steps, batches, tokens, epochs."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from itertools import islice, takewhile
from typing import TypeVar

from warplint.static.parsing.blocks import Block, BlockKind, CallSite, FunctionOutline, LoopCalls
from warplint.static.parsing.tree import last_name
from warplint.static.role import Role
from warplint.static.structure import roles
from warplint.static.structure.index import Index
from warplint.static.tables import frequency


class LoopKind(enum.Enum):
    """What one round of a loop is."""

    # The members are singletons: hashing them by identity is several times faster than by name.
    __hash__ = object.__hash__

    TRAINING = "in the training loop"
    BATCHES = "in the loop over batches"
    DECODING = "in the decoding loop"
    INFERENCE = "in the loop that runs the model"
    EPOCH = "in the epoch loop"
    PLAIN = "in a loop"


STEP_LOOPS = frozenset({LoopKind.TRAINING, LoopKind.BATCHES, LoopKind.DECODING, LoopKind.INFERENCE})
"""Loops one round of which is a step, a batch or a token."""


Part = TypeVar("Part", Block, FunctionOutline)
Answer = TypeVar("Answer", bool, LoopKind)


class Loops:
    """The loops of one version of a module. ``is_circular`` says that functions were met that run each other:
    which of them was asked about first may tell in what is said of them."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._steps: dict[FunctionOutline, bool] = {}
        self._kinds: dict[Block, LoopKind] = {}
        self._asked: set[FunctionOutline | Block] = set()
        self.is_circular = False
        self._top_sites = [site for site in index.calls if site.block.function is None]
        self._top_loops = [
            loop for placed in index.chunks for loop in placed.chunk.outline.loops if loop.function is None
        ]

    def keep(self, before: Loops, anew: Container[FunctionOutline]) -> None:
        """Take over what an earlier version's loops are for, and which functions are steps.

        Not of functions that do something ``anew``, nor of module level.
        """
        self._steps = {function: step for function, step in before._steps.items() if function not in anew}
        self._kinds = {
            loop: kind
            for loop, kind in before._kinds.items()
            if loop.function is not None and loop.function not in anew
        }

    def kind(self, loop: Block) -> LoopKind:
        return self._followed(loop, self._kinds, LoopKind.PLAIN, self._find)

    def is_training_step(self, function: FunctionOutline) -> bool:
        """Whether one run of a function is one training step: it runs backward outside its own loops."""
        return self._followed(function, self._steps, False, self._runs_step)

    def _followed(
        self,
        part: Part,
        known: dict[Part, Answer],
        meanwhile: Answer,
        find: Callable[[Part], Generator[Part, Answer | None, Answer]],
    ) -> Answer:
        """What ``find`` says of a part: it yields the parts that it asks about, and is handed the answers.

        It is run without recursion, since programs call deeper than Python's stack. ``meanwhile`` is said of
        what is being asked about.
        """
        asking: list[tuple[Part, Generator[Part, Answer | None, Answer]]] = []
        while True:
            answer = known.get(part)
            if answer is None:
                known[part] = meanwhile
                self._asked.add(part)
                asking.append((part, find(part)))
            elif part in self._asked:
                self.is_circular = True
            while asking:
                try:
                    part = asking[-1][1].send(answer)
                    break
                except StopIteration as found:
                    done, _ = asking.pop()
                    self._asked.remove(done)
                    answer = known[done] = found.value
            else:
                assert answer is not None, "what is no longer asked about has been answered"
                return answer

    def _runs_step(self, function: FunctionOutline) -> Generator[FunctionOutline, bool | None, bool]:
        for site in function.calls:
            if _around(site.block) is not None:
                continue
            is_step = _is_step(site)
            if is_step:
                return True
            for target in self._called(site) if is_step is None else ():
                if (yield target):
                    return True
        return False

    def _find(self, loop: Block) -> Generator[Block, LoopKind | None, LoopKind]:
        function = loop.function
        calls = self._calls(loop)
        if any(map(self._marks_step, calls.direct)):
            return LoopKind.TRAINING
        if iterates_loader(loop.node):
            return LoopKind.BATCHES
        loops = function.loops if function else self._top_loops
        first = loops.index(loop) + 1
        # The loops inside one follow it.
        for other in takewhile(lambda other: _is_inside(other, loop), islice(loops, first, None)):
            if (yield other) is not LoopKind.PLAIN:
                return LoopKind.EPOCH
        for target in (target for site in calls.inside for target in self._called(site)):
            for other in target.loops:
                if (yield other) in {LoopKind.TRAINING, LoopKind.BATCHES}:
                    return LoopKind.EPOCH
        return self._by_model(function, calls.direct)

    def _calls(self, loop: Block) -> LoopCalls:
        if loop.calls is None:
            self._sort_calls(loop.function)
        assert loop.calls is not None
        return loop.calls

    def _sort_calls(self, function: FunctionOutline | None) -> None:
        """Note with each loop of a function, or of the module, the calls in it."""
        inside: dict[Block, list[CallSite]] = {
            loop: [] for loop in (function.loops if function is not None else self._top_loops)
        }
        direct: dict[Block, list[CallSite]] = {loop: [] for loop in inside}
        for site in function.calls if function is not None else self._top_sites:
            around = _around(site.block)
            if around is None:
                continue
            for loop in {around, _counting(site.block)}:
                if loop is not None:
                    direct[loop].append(site)
            outer: Block | None = around
            while outer is not None:
                inside[outer].append(site)
                outer = _around(outer.parent)
        for loop, sites in inside.items():
            loop.calls = LoopCalls(tuple(sites), tuple(direct[loop]))

    def _by_model(self, function: FunctionOutline | None, direct: Sequence[CallSite]) -> LoopKind:
        """A loop that runs a model, and nothing else shows what for."""
        role = roles.named_role(function, None) if function is not None else Role.SCRIPT
        if role is Role.GENERATE and any(_runs_model(site) for site in direct):
            return LoopKind.DECODING
        if role not in {Role.SETUP, Role.DATA} and any(map(_calls_model, direct)):
            return LoopKind.INFERENCE
        return LoopKind.PLAIN

    def _marks_step(self, site: CallSite) -> bool:
        """Whether a call runs the backward pass or the optimizer, itself or in a function that is a step."""
        is_step = _is_step(site)
        return any(map(self.is_training_step, self._called(site))) if is_step is None else is_step

    def _called(self, site: CallSite) -> list[FunctionOutline]:
        if site.handed_over:
            return []
        return [target for target in self._index.targets(site) if target is not site.block.function]


def _is_step(site: CallSite) -> bool | None:
    """Whether a call itself runs the backward pass or the optimizer; None where what it calls decides."""
    if site.handed_over:
        return False
    if site.name in frequency.BACKWARD:
        return site.base not in {"self", "super"} or site.name == "manual_backward"
    if site.name == "step" and isinstance(site.node.func, ast.Attribute):
        return frequency.OPTIMIZER.fullmatch(last_name(site.node.func.value)) is not None
    return None


def _around(block: Block | None) -> Block | None:
    """The innermost loop around a block within its function."""
    while block is not None and block.kind is not BlockKind.FUNCTION:
        if block.kind is BlockKind.LOOP:
            return block
        block = block.parent
    return None


def _counting(block: Block) -> Block | None:
    """The innermost loop that can count steps: loops over a collection of losses or optimizers cannot."""
    loop = _around(block)
    while loop is not None:
        if isinstance(loop.node, ast.While) or _counts(loop.node) or iterates_loader(loop.node):
            return loop
        loop = _around(loop.parent)
    return None


def _counts(node: ast.AST) -> bool:
    return isinstance(node, ast.For | ast.AsyncFor) and any(
        isinstance(inner, ast.Call) and last_name(inner.func) in frequency.COUNTING
        for inner in _wrapped(node.iter)
    )


def iterates_loader(node: ast.AST) -> bool:
    """Whether a loop goes over the batches of a loader, by the name of what it iterates."""
    if not isinstance(node, ast.For | ast.AsyncFor):
        return False
    names = [last_name(inner) for inner in _wrapped(node.iter)]
    if any(map(frequency.LOADER.fullmatch, names)):
        return True
    target = node.target.id if isinstance(node.target, ast.Name) else ""
    if frequency.MINIBATCH.fullmatch(target):
        return not _counts(node)
    return not frequency.COUNTER.fullmatch(target) and any(map(frequency.PROGRESS.fullmatch, names))


def _wrapped(iterated: ast.expr) -> Iterator[ast.expr]:
    """What a loop iterates, and what stands inside ``enumerate``, ``tqdm`` and their like."""
    yield iterated
    if isinstance(iterated, ast.Call):
        if last_name(iterated.func) in frequency.WRAPPERS:
            for argument in iterated.args:
                yield from _wrapped(argument)
        elif isinstance(iterated.func, ast.Attribute):
            yield from _wrapped(iterated.func.value)


def _runs_model(site: CallSite) -> bool:
    """Whether a call in a loop that decodes runs the model: itself, or in a function that is handed it."""
    is_given = site.handed_over and frequency.MODEL.fullmatch(site.name) is not None
    return is_given or site.base == "self" or _calls_model(site)


def _calls_model(site: CallSite) -> bool:
    is_plain = not site.handed_over and site.base in {"", "self"}
    return is_plain and frequency.MODEL.fullmatch(site.name) is not None


def _is_inside(block: Block | None, outer: Block) -> bool:
    while block is not None:
        if block is outer:
            return True
        block = block.parent
    return False
