"""Edits as people and tools make them, finished or not, as hypothesis strategies."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import strategies as st

PIECES = (
    "(",
    ")",
    "[",
    "]",
    ":",
    ",",
    "=",
    "\n",
    "\r\n",
    "\t",
    "    ",
    "\x0c",
    "\\\n",
    '"""',
    "'",
    "#",
    "# warplint: ignore\n",
    "x",
    "é🦆",
    ".item()",
    ".to(device)",
    ".cpu()",
    "torch.zeros(3)",
    "self.",
    "not ",
    "await ",
    "lambda: ",
    "if x:\n",
    "for i in range(3):\n",
    "while True:\n",
    "with torch.no_grad():\n",
    "def f(x):\n    return x\n",
    "class Net(nn.Module):\n    def forward(self, x):\n        return x\n",
    "import torch as t\n",
    "del torch\n",
    "global x\n",
    "match x:\n    case torch.float: pass\n",
    "@decorated\n",
    "return\n",
)
NAME = re.compile(r"[^\W\d]\w*")

Change = Callable[[str], str]
SHARES = st.floats(0, 1, allow_nan=False)


def at(text: str, share: float) -> int:
    return round(share * len(text))


def line_at(lines: list[str], share: float) -> int:
    return min(int(share * len(lines)), len(lines) - 1)


def insert(where: float, piece: str) -> Change:
    return lambda text: text[: at(text, where)] + piece + text[at(text, where) :]


def erase(where: float, count: int) -> Change:
    return lambda text: text[: at(text, where)] + text[at(text, where) + count :]


def without_line(where: float) -> Change:
    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(lines[: line_at(lines, where)] + lines[line_at(lines, where) + 1 :])

    return change


def moved_line(where: float, to: float, keep: bool) -> Change:
    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        if not lines:
            return text
        line = lines[line_at(lines, where)]
        if not keep:
            del lines[line_at(lines, where)]
        lines.insert(round(to * len(lines)), line)
        return "".join(lines)

    return change


def indented(where: float, by: int) -> Change:
    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        if not lines:
            return text
        number = line_at(lines, where)
        lines[number] = " " * by + lines[number] if by > 0 else lines[number][-by:]
        return "".join(lines)

    return change


def renamed(where: float, to: float) -> Change:
    def change(text: str) -> str:
        names = list(NAME.finditer(text))
        if not names:
            return text
        old, new = (names[min(int(share * len(names)), len(names) - 1)] for share in (where, to))
        return text[: old.start()] + new[0] + text[old.end() :]

    return change


CHANGES = st.one_of(
    st.builds(insert, SHARES, st.sampled_from(PIECES)),
    st.builds(erase, SHARES, st.integers(1, 40)),
    st.builds(without_line, SHARES),
    st.builds(moved_line, SHARES, SHARES, st.booleans()),
    st.builds(indented, SHARES, st.integers(-4, 4)),
    st.builds(renamed, SHARES, SHARES),
)
