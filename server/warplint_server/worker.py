"""A thread for work that would keep the event loop waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")


class Worker:
    """Runs calls one after another on a daemon thread.

    An executor's threads are waited for when the interpreter exits; a client that has gone must not wait
    for a capture being joined.
    """

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()
        Thread(target=self._run, name=name, daemon=True).start()

    def call(self, function: Callable[..., Result], *arguments: Any) -> asyncio.Future[Result]:
        """Queue a call; the future, of the running event loop, has its result or its exception."""
        future: Future[Result] = Future()
        self._calls.put((future, function, arguments))
        return asyncio.wrap_future(future)

    def _run(self) -> None:
        while True:
            future, function, arguments = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = function(*arguments)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
