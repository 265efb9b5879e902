"""Asks the process that checks closed files, which is started when it is first needed."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

from warplint_server.closed_files import LENGTH_BYTES, Answer, Problem, Request, framed

PROGRAM = "import sys; sys.path[:] = {path!r}; from warplint_server.closed_files import main; main()"
ISOLATED = ("-E", "-s", "-B")
"""Modules come from where this server's own do, and nothing is written beside them."""


class ClosedFiles:
    """One process, and one request at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def ask(self, request: Request) -> AsyncIterator[Answer | Problem]:
        """The answers as they come. Whoever stops listening stops the process, too."""
        async with self._lock:
            process = await self._running()
            assert process.stdin is not None and process.stdout is not None
            done = False
            try:
                process.stdin.write(framed(request))
                while (answer := await _read(process.stdout)) is not None:
                    yield answer
                done = True
            finally:
                if not done:
                    self.stop()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *ISOLATED,
                "-c",
                PROGRAM.format(path=sys.path),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
            )
        return self._process


async def _read(stream: asyncio.StreamReader) -> Any:
    length = int.from_bytes(await stream.readexactly(LENGTH_BYTES), "big")
    return pickle.loads(await stream.readexactly(length))
