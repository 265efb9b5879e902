"""What a rule's own file says of it: the reason for a hover, and the page a diagnostic's code leads to.

``warplint/rulePage`` is the request for a page's text, of clients that show pages themselves.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from warplint_server.server import WarplintServer

if TYPE_CHECKING:
    from warplint.project.builtin import BuiltIn
    from warplint.static.rules.rule import Rule

RULE_PAGE = "warplint/rulePage"
REASON_HEADING = "## Why is this slow?"


def reason(rule: Rule) -> str:
    """The first paragraph of a rule's documentation and its reason, in Markdown."""
    text = inspect.cleandoc(rule.__doc__ or "")
    opening = text.partition("\n\n")[0]
    _, _, after = text.partition(f"\n{REASON_HEADING}\n")
    why = after.partition("\n## ")[0].strip()
    return f"{opening}\n\n{why}" if why else opening


def address(code: str, rule: Rule | None, client_shows_pages: bool) -> str | None:
    """Where a code's page is: to be asked for, or else in the rule's file, as docstring and examples."""
    if client_shows_pages:
        return f"warplint-rule:/{code}.md"
    return _file_of(type(rule)) if rule is not None else None


@cache
def _file_of(rule: type[Rule]) -> str:
    return Path(inspect.getfile(rule)).absolute().as_uri()


async def rule_page(server: WarplintServer, params: Any) -> dict[str, str]:
    """Answer ``{code}`` with ``{markdown}``: what ``warplint rule`` prints."""
    code = getattr(params, "code", None)
    markdown = await server.session.engine_worker.call(_page, code)
    if markdown is None:
        raise JsonRpcException(f"there is no rule {code!r}", types.ErrorCodes.InvalidParams)
    return {"markdown": markdown}


def _page(code: object) -> str | None:
    # Imported here because loading all rules is no part of starting.
    from warplint.project.builtin import BUILT_IN
    from warplint.project.engine import all_rules
    from warplint.report import rule_page

    explained: list[Rule | BuiltIn] = [*BUILT_IN, *all_rules()]
    rule = next((rule for rule in explained if rule.code == code), None)
    return rule_page.rule_page(rule) if rule is not None else None
