"""A client that shows rule pages itself gets links to them, and the pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lsp_editor import Editor, editor
from lsp_samples import ROTARY
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOWS_PAGES = {"rulePages": True}


async def page(session: Editor, params: dict[str, str]) -> str:
    answer = await session.client.protocol.send_request_async("warplint/rulePage", params)
    assert isinstance(answer.markdown, str)
    return answer.markdown


async def test_a_finding_leads_to_its_page(project: Path) -> None:
    async with editor(project, options=SHOWS_PAGES) as session:
        text = ROTARY + "def half(x\n"
        found = {it.code: it for it in await session.diagnostics(session.open(project / "model.py", text))}
    links = {code: it.code_description and it.code_description.href for code, it in found.items()}
    assert links == {"WL101": "warplint-rule:/WL101.md", "WL001": "warplint-rule:/WL001.md"}


@pytest.mark.parametrize("code", ["WL101", "WL001"])
async def test_a_page_is_what_the_command_prints(session: Editor, code: str) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "warplint", "rule", code], capture_output=True, encoding="utf-8", check=True
    )
    assert await page(session, {"code": code}) == printed.stdout


@pytest.mark.parametrize("params", [{"code": "WL999"}, {}])
async def test_a_code_without_a_rule_is_an_error(session: Editor, params: dict[str, str]) -> None:
    with pytest.raises(JsonRpcException, match="no rule"):
        await page(session, params)
