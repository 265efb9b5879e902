"""Answers that are kept, and that remember whom they were given to.

What a chunk was told about the rest of the module is its incoming facts: while its text and those answers
stay the same, so do its findings. Asking all of that again after each keystroke would mean evaluating the
module again, so it is also remembered what the answers rest on in the end: facts that are read off the index.
While those are the same, nothing else need be asked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

Question = tuple[str, tuple[Hashable, ...]]
"""The name of a method and its arguments."""
Answers = dict[Question, object]

FUNCTIONS_DEEP = 6
"""Functions that are followed into each other."""
_NOTHING = object()

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Asked = TypeVar("Asked", bound="Asking")


class Ground:
    """What answers rest on: facts themselves, and the ground of other answers."""

    __slots__ = ("facts", "others")

    def __init__(self) -> None:
        self.facts: Answers = {}
        self.others: dict[Ground, None] = {}

    def all_facts(self) -> Answers:
        """The facts of this and of all that it rests on."""
        found: Answers = {}
        seen = {self}
        waiting = [self]
        while waiting:
            ground = waiting.pop()
            found.update(ground.facts)
            for other in ground.others:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return found


class Asking:
    """The base of a class whose methods are questions.

    Unless it ``notes`` them, it is not remembered what was asked and what answers rest on: that takes a fifth
    of the time, and is for versions that another one follows.
    """

    def __init__(self, functions_deep: int = FUNCTIONS_DEEP, *, notes: bool = True) -> None:
        self._functions_deep = functions_deep
        self._notes = notes
        self._answers: Answers = {}
        self._grounds: dict[Question, Ground] = {}
        self._ground = Ground()
        self._listeners: list[Answers] = []
        self._work = _Work()

    def keep(self, question: Question, find: Callable[[], object]) -> object:
        """The answer to a question, found once and noted for nobody."""
        answer = self._answers.get(question, _NOTHING)
        if answer is _NOTHING:
            answer = self._unanswered(question, find)
        if self._notes:
            self._ground.others[self._grounds[question]] = None
        return answer

    def _told(self, question: Question, answer: object) -> None:
        if self._listeners:
            self._listeners[-1][question] = answer

    def _unanswered(self, question: Question, find: Callable[[], object]) -> object:
        """The answer to a question that has no complete one yet."""
        answer = self._work.answers.get(question, _NOTHING)
        if answer is _NOTHING:
            return self._found(question, find)
        self._work.is_incomplete = True
        return answer

    def again(self, question: Question) -> object:
        """The answer to a question that an earlier version was asked."""
        name, arguments = question
        answer: object = getattr(self, name)(*arguments)
        return answer

    def _found(self, question: Question, find: Callable[[], object]) -> object:
        work = self._work
        outer, work.is_incomplete = work.is_incomplete, False
        answer = self._grounded(question, find) if self._notes else find()
        if work.running and work.is_incomplete:
            work.answers[question] = answer
        else:
            # What the work began with has been followed as far as it goes, even where it meets itself.
            self._answers[question] = answer
        work.is_incomplete |= outer
        if not work.running:
            self._work = _Work()
        return answer

    def _grounded(self, question: Question, find: Callable[[], object]) -> object:
        """What is found; what that rests on is remembered."""
        self._listeners.append({})
        around, self._ground = self._ground, Ground()
        try:
            answer = find()
        finally:
            self._listeners.pop()
            ground, self._ground = self._ground, around
        self._grounds[question] = ground
        return answer

    @contextmanager
    def listening(self) -> Iterator[Answers]:
        """Collect the questions asked meanwhile, with their answers."""
        self._listeners.append({})
        try:
            yield self._listeners[-1]
        finally:
            self._listeners.pop()

    @contextmanager
    def resting(self) -> Iterator[Ground]:
        """Collect what is looked at meanwhile, directly or by the answers that are given."""
        outer, self._ground = self._ground, Ground()
        try:
            yield self._ground
        finally:
            self._ground = outer

    def told(self, answers: Answers) -> None:
        """Note answers that were given before, to whoever is listening."""
        if answers and self._listeners:
            self._listeners[-1].update(answers)

    @contextmanager
    def apart(self, part: object) -> Iterator[None]:
        """Work on a part as if on nothing else, so that the answer is complete and serves everyone.

        Where that part is being worked on already, this is more of the same work.
        """
        work = self._work
        if part not in work.running:
            self._work = _Work()
        try:
            yield
        finally:
            self._work = work

    @contextmanager
    def working(self, part: object, further: int = 0) -> Iterator[bool]:
        """Mark a part as being worked on; False where it already is, or where functions lead too deep.

        ``further`` is how much deeper than others this part is worth going.
        """
        running = self._work.running
        if part in running or len(running) >= self._functions_deep + further:
            self._work.is_incomplete = True
            yield False
            return
        running.append(part)
        try:
            yield True
        finally:
            running.remove(part)


class _Work:
    """Parts being worked on, innermost last.

    An answer that needs one of them is incomplete: it serves the work at hand and is then forgotten, so that
    no answer depends on what was asked first.
    """

    def __init__(self) -> None:
        self.running: list[object] = []
        self.is_incomplete = False
        self.answers: Answers = {}


def question(
    method: Callable[Concatenate[Asked, Parameters], Answer],
) -> Callable[Concatenate[Asked, Parameters], Answer]:
    """A method whose answers are kept and noted. Its arguments are given by position and can be hashed."""
    name = method.__name__

    @functools.wraps(method)
    def ask(self: Asked, /, *arguments: Parameters.args, **_: Parameters.kwargs) -> Answer:
        key: Question = (name, arguments)
        answer = self._answers.get(key, _NOTHING)
        if answer is _NOTHING:
            answer = self._unanswered(key, lambda: method(self, *arguments))  # type: ignore[call-arg]
        if self._notes:
            self._ground.others[self._grounds[key]] = None
            self._told(key, answer)
        return answer  # type: ignore[return-value]

    return ask


def fact(
    method: Callable[Concatenate[Asked, Parameters], Answer],
) -> Callable[Concatenate[Asked, Parameters], Answer]:
    """A question that is answered from the index, without asking another."""
    return _looking(method, is_told=True)


def silent_fact(
    method: Callable[Concatenate[Asked, Parameters], Answer],
) -> Callable[Concatenate[Asked, Parameters], Answer]:
    """A fact that says more than its users need, and so is told to nobody: a function's whole text."""
    return _looking(method, is_told=False)


def _looking(
    method: Callable[Concatenate[Asked, Parameters], Answer], *, is_told: bool
) -> Callable[Concatenate[Asked, Parameters], Answer]:
    name = method.__name__

    @functools.wraps(method)
    def look(self: Asked, /, *arguments: Parameters.args, **_: Parameters.kwargs) -> Answer:
        key: Question = (name, arguments)
        answer = self._answers.get(key, _NOTHING)
        if answer is _NOTHING:
            answer = self._answers[key] = method(self, *arguments)  # type: ignore[call-arg]
        if self._notes:
            self._ground.facts[key] = answer
            if is_told:
                self._told(key, answer)
        return answer  # type: ignore[return-value]

    return look


def followed_fact(
    method: Callable[Concatenate[Asked, Parameters], Answer],
) -> Callable[Concatenate[Asked, Parameters], Answer]:
    """A question that follows the program, and is answered anew for each version: so much rests on it that
    its answer, and not what that rests on, decides what is asked again."""
    name = method.__name__

    @functools.wraps(method)
    def follow(self: Asked, /, *arguments: Parameters.args, **_: Parameters.kwargs) -> Answer:
        key: Question = (name, arguments)
        answer = self._answers.get(key, _NOTHING)
        if answer is _NOTHING:
            answer = self._unanswered(key, lambda: method(self, *arguments))  # type: ignore[call-arg]
        if self._notes:
            self._ground.facts[key] = answer
            self._told(key, answer)
        return answer  # type: ignore[return-value]

    return follow
