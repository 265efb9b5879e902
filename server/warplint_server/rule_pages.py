"""What a rule's own file says of it: the reason for a hover, and the page a diagnostic's code leads to."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warplint.static.rule import Rule

REASON_HEADING = "## Why is this slow?"


def reason(rule: Rule) -> str:
    """The first paragraph of a rule's documentation and its reason, in Markdown."""
    text = inspect.cleandoc(rule.__doc__ or "")
    opening = text.partition("\n\n")[0]
    _, _, after = text.partition(f"\n{REASON_HEADING}\n")
    why = after.partition("\n## ")[0].strip()
    return f"{opening}\n\n{why}" if why else opening


def page(rule: Rule) -> str:
    """The address of the rule's file, whose docstring and examples are its documentation."""
    return Path(inspect.getfile(type(rule))).absolute().as_uri()
