"""A language client that does nothing but talk and note when it was answered."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE_S = 120.0


@dataclass(slots=True)
class Heard:
    """A notification, and when it came (``time.perf_counter``)."""

    at_s: float
    method: str
    params: dict[str, Any]


@dataclass
class LanguageServer:
    """A server process, spoken to over its standard streams."""

    process: asyncio.subprocess.Process
    heard: list[Heard] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, command: str, folder: Path) -> LanguageServer:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            limit=2**24,
        )
        server = cls(process)
        server._reading = asyncio.create_task(server._read())
        return server

    async def request(self, method: str, params: object) -> Any:
        """The result; of a request that the server refuses, None."""
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return await asyncio.wait_for(future, PATIENCE_S)

    def notify(self, method: str, params: object) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def wait_for(self, method: str, since: int, wanted: Callable[[dict[str, Any]], bool]) -> Heard:
        """The first notification of a method, of those heard from number ``since`` on, that is wanted."""
        while True:
            for heard in self.heard[since:]:
                if heard.method == method and wanted(heard.params):
                    return heard
            since = len(self.heard)
            self._arrived.clear()
            await asyncio.wait_for(self._arrived.wait(), PATIENCE_S)

    def resident_mb(self) -> float:
        """Memory of the process and its children that is in RAM now. Linux."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return sum(_resident_mb(int(pid)) for pid in [self.process.pid, *children])

    async def stop(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        if self._reading is not None:
            self._reading.cancel()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while line := await stream.readline():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            elif not line.strip():
                self._take(json.loads(await stream.readexactly(length)), time.perf_counter())

    def _take(self, message: dict[str, Any], at_s: float) -> None:
        if "method" not in message:
            self._waiting.pop(message["id"]).set_result(message.get("result"))
        elif "id" in message:
            asked = message["params"].get("items") if message["method"] == "workspace/configuration" else None
            result = None if asked is None else [None for _ in asked]
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            self.heard.append(Heard(at_s, message["method"], message["params"]))
            self._arrived.set()


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def initialize(server: LanguageServer, folder: Path, parent_pid: int | None = None) -> dict[str, Any]:
    """Shake hands as an editor that is sent diagnostics and draws costs itself; what the server said."""
    answer = await server.request(
        "initialize",
        {
            "processId": parent_pid or os.getpid(),
            "rootUri": folder.as_uri(),
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
            "capabilities": {
                "workspace": {"configuration": True, "workspaceFolders": True},
                "textDocument": {"publishDiagnostics": {"versionSupport": True}},
            },
            "initializationOptions": {"warplint": {"draws": True}},
        },
    )
    server.notify("initialized", {})
    assert isinstance(answer, dict)
    return answer
