"""A line of source as sentences quote it: enough to know it by."""

from __future__ import annotations

import io
import tokenize

WIDTH = 40


def quoted(line: str) -> str:
    """Without indentation and comment, with single spaces, and cut where it is long; empty for no code."""
    code = " ".join(_without_comment(line.strip()).split())
    return f"{code[: WIDTH - 1]}…" if len(code) > WIDTH else code


def _without_comment(line: str) -> str:
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return line[: token.start[1]]
    except (tokenize.TokenError, SyntaxError):
        # A line need not be a whole statement: its brackets or its string may end on another.
        pass
    return line
