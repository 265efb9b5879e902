"""Answers that are kept, and that remember whom they were given to.

What a chunk was told about the rest of the module is its incoming facts: while its text and those answers
stay the same, so do its findings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

Question = tuple[str, tuple[Hashable, ...]]
"""The name of a method and its arguments."""
Answers = dict[Question, object]

_MAX_DEPTH = 6
"""Functions that are followed into each other."""
_NOTHING = object()

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Asked = TypeVar("Asked", bound="Asking")


class Asking:
    """The base of a class whose methods are questions."""

    def __init__(self) -> None:
        self._answers: Answers = {}
        self._listeners: list[Answers] = []
        self._work = _Work()

    def ask(self, question: Question, find: Callable[[], object]) -> object:
        """The answer to a question, noted for whoever is listening."""
        answer = self.keep(question, find)
        if self._listeners:
            self._listeners[-1][question] = answer
        return answer

    def keep(self, question: Question, find: Callable[[], object]) -> object:
        """The answer to a question, found once and noted for nobody."""
        answer = self._answers.get(question, _NOTHING)
        if answer is _NOTHING:
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
        with self.listening():
            answer = find()
        if work.running and work.is_incomplete:
            work.answers[question] = answer
        else:
            # What the work began with has been followed as far as it goes, even where it meets itself.
            self._answers[question] = answer
        work.is_incomplete |= outer
        if not work.running:
            self._work = _Work()
        return answer

    @contextmanager
    def listening(self) -> Iterator[Answers]:
        """Collect the questions asked meanwhile, with their answers."""
        self._listeners.append({})
        try:
            yield self._listeners[-1]
        finally:
            self._listeners.pop()

    def told(self, answers: Answers) -> None:
        """Note answers that were given before, to whoever is listening."""
        if self._listeners:
            self._listeners[-1].update(answers)

    @contextmanager
    def working(self, part: object) -> Iterator[bool]:
        """Mark a part as being worked on; False where it already is, or where functions lead too deep."""
        running = self._work.running
        if part in running or len(running) >= _MAX_DEPTH:
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

    @functools.wraps(method)
    def ask(self: Asked, /, *arguments: Parameters.args, **named: Parameters.kwargs) -> Answer:
        key: Question = (method.__name__, arguments)
        answer: Answer = self.ask(key, lambda: method(self, *arguments, **named))  # type: ignore[assignment]
        return answer

    return ask
