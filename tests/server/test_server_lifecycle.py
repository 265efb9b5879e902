"""The server starts, survives what clients and files do to it, and leaves when they do."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lsp_editor import PATIENCE_S, SERVER, editor, span
from lsp_samples import ROTARY
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_client_that_takes_its_leave_gets_exit_status_0(project: Path) -> None:
    async with editor(project) as session:
        process = session.process
    assert process.returncode == 0


async def test_the_end_of_standard_input_ends_the_server_at_once(project: Path) -> None:
    async with editor(project) as session:
        await session.diagnostics(session.open(project / "model.py", ROTARY))
        assert session.process.stdin is not None
        session.process.stdin.close()
        start = time.monotonic()
        assert await asyncio.wait_for(session.process.wait(), PATIENCE_S) == 1
        assert time.monotonic() - start < 5


PARENT = """
import os, subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=0, stdout=1)
print(os.getpid(), server.pid, file=sys.stderr, flush=True)
time.sleep(600)
"""


async def test_the_server_leaves_when_its_client_is_killed() -> None:
    """Standard input stays open here, as when another process has inherited its other end."""
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, *SERVER,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert parent.stdin is not None
    assert parent.stdout is not None
    assert parent.stderr is not None
    client_pid, server_pid = map(int, (await parent.stderr.readline()).split())
    body = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize",'
        f'"params":{{"processId":{client_pid},"rootUri":null,"capabilities":{{}}}}}}'
    )
    parent.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    assert await asyncio.wait_for(parent.stdout.readline(), PATIENCE_S)
    parent.kill()
    await parent.wait()
    deadline = time.monotonic() + PATIENCE_S
    while is_running(server_pid):
        assert time.monotonic() < deadline, "the server outlived its client"
        await asyncio.sleep(0.1)


def is_running(pid: int) -> bool:
    """Whether a process is there and not merely waiting for its parent to look at its status."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_a_bad_message_is_answered_with_an_error_and_the_server_goes_on(project: Path) -> None:
    async with editor(project) as session:
        uri = session.open(project / "model.py", ROTARY)
        foreign = types.CodeAction("from another server", data={"uri": uri, "version": 1})
        for action in (types.CodeAction("no data"), foreign):
            with pytest.raises(JsonRpcException):
                await session.client.code_action_resolve_async(action)
        session.change("file:///never/opened.py", 3, "x")
        session.close("file:///never/opened.py")
        with pytest.raises(JsonRpcException):
            await session.client.protocol.send_request_async("warplint/unknown", {})
        assert len(await session.diagnostics(uri)) == 1
        assert not session.client.messages


async def test_a_document_that_cannot_be_checked_does_not_stop_the_others(project: Path) -> None:
    async with editor(project) as session:
        for name in ("nul%00.py", f"{'long' * 100}.py"):
            broken = session.open(project, ROTARY, uri=f"{project.as_uri()}/{name}")
            session.change(broken, 2, "x = 1\n")
            assert await session.actions(broken, span(0, 0, 1)) == []
        uri = session.open(project / "model.py", ROTARY)
        assert len(await session.diagnostics(uri)) == 1


AWKWARD_TEXTS = {
    "empty": "",
    "one line without an end": "import torch",
    "carriage returns": ROTARY.replace("\n", "\r\n"),
    "a NUL": "import torch\n\0\n",
    "a lone surrogate": "import torch\nx = '\ud83d'\n",
    "deep nesting": "x = " + "(" * 4000,
    "long": ROTARY + f"TEXT = {'x' * 90!r}\n" * 3_000,
}


async def test_awkward_texts_are_answered(project: Path) -> None:
    async with editor(project) as session:
        for name, text in AWKWARD_TEXTS.items():
            uri = session.open(project / f"{name}.py", text)
            await session.diagnostics(uri)
            session.change(uri, 2, "import torch\n", span(0, 0, 0))
            await session.diagnostics(uri, 2)
            await session.hover(uri, 0, 0)
            await session.actions(uri, types.Range(types.Position(0, 0), types.Position(9, 9)))
            session.change(uri, 3, ROTARY)
            assert len(await session.diagnostics(uri, 3)) == 1, name


async def test_the_log_says_which_server_runs(project: Path) -> None:
    async with editor(project) as session:
        await session.until(lambda: any(sys.executable in it.message for it in session.client.log_messages))


async def test_what_programs_print_does_not_reach_the_protocol(project: Path) -> None:
    noisy = (
        "import sys, os, threading\n"
        "from warplint_server import text_sync\n"
        "opened = text_sync.did_open\n"
        "def did_open(server, params):\n"
        "    print('from Python'); os.write(1, b'from C')\n"
        "    opened(server, params)\n"
        "text_sync.did_open = did_open\n"
        "from warplint_server.main import serve\n"
        "sys.exit(serve())\n"
    )
    async with editor(project, command=(sys.executable, "-c", noisy)) as session:
        assert len(await session.diagnostics(session.open(project / "model.py", ROTARY))) == 1


async def test_an_answer_that_is_cancelled_too_late_is_no_warning() -> None:
    late = '{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}}'
    done = subprocess.run(
        SERVER,
        input=f"Content-Length: {len(late)}\r\n\r\n{late}",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stderr == ""


async def test_without_pygls_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'pygls' else find(name, *rest)\n"
        "from warplint.__main__ import main\n"
        "sys.exit(main(['server']))\n"
    )
    assert importlib.util.find_spec("pygls") is not None
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'pygls" in done.stderr
    assert not done.stdout


async def test_the_protocol_s_types_are_made_without_what_the_server_does_not_use() -> None:
    code = (
        "import warplint_server.main\n"
        "from lsprotocol.types import TextEdit\n"
        "print(TextEdit.__eq__ is object.__eq__, TextEdit.__repr__ is object.__repr__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout.split() == ["True", "True"]


async def test_libcst_is_not_imported_before_the_client_is_answered() -> None:
    code = (
        "import sys\n"
        "import warplint_server.main\n"
        "print(*sorted({'libcst', 'torch', 'numpy', 'warplint.static.analyze'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout.split() == []
