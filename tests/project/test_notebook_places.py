"""What is reported of a notebook stands in the cell and line that are named, before and after fixes.

Notebooks are made of cells of all kinds, as one string or in lines, each with line ends of its own.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from warplint.project.batch import Mode, Work, check_item
from warplint.project.config import Config
from warplint.project.files import Target
from warplint.project.result import FileResult

IMPORTS = "import torch\nfrom torch import nn"
FOUND = (
    "class Net{}(nn.Module):\n    def forward(self, x):\n{}        return x * torch.arange(3).to(x.device)"
)
IS_FOUND, IS_MENDED = "torch.arange(3).to(x.device)", "torch.arange(3, device=x.device)"
MENDED_LONGER = "def f{}(y):\n    x = y.cuda()\n    return torch.sqrt(torch.tensor(2.0)) * x"

PYTHON = (
    FOUND,
    "\n\n" + FOUND + "\n\n",
    "%matplotlib inline\n" + FOUND,
    "!ls \\\n  -l\n" + FOUND + "\n!ls",
    "%%time\n" + FOUND,
    "\n%%timeit -n 3\n" + FOUND + "\n",
    "\f\n" + FOUND,
    "x = '''\n%d\n'''\n" + FOUND,
    "class é:\n    pass  # \u2028 \U0001f600\n" + FOUND,
)
OTHER = (
    "",
    "\n",
    "# nothing",
    "%%bash\nfor f in *; do echo $f; done\n",
    "%%writefile a.py\nclass Net(nn.Module",
    "files = !ls\nprint?",
    IMPORTS,
)
BROKEN = (
    "x = (",
    "print 'a'",
    "y = '''\n%d",
    "%time x = 1\nif x\n    pass",
    "def f(:\n    !ls\n",
    "  x = 1\n y = 2",
    "x = 1 \\",
    "x = \x00",
)
ENDS = ("\n", "\r\n", "\r")

Cell = tuple[str, str, bool, bool]
"""A source, its line ends, whether it is stored in lines, and whether it is markdown."""

cells = st.tuples(
    st.sampled_from([*PYTHON, *OTHER, *BROKEN]), st.sampled_from(ENDS), st.booleans(), st.just(False)
) | st.tuples(st.sampled_from(["# Title\n", FOUND]), st.just("\n"), st.booleans(), st.just(True))


def source_of(cell: Cell, number: int) -> str:
    text, end, _, _ = cell
    return text.replace("{}(", f"{number}(").replace("{}", "").replace("\n", end)


def stored(source: str, in_lines: bool) -> str | list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", source) if in_lines else source


def notebook(made: list[Cell]) -> bytes:
    held = [
        {
            "cell_type": "markdown" if cell[3] else "code",
            "metadata": {},
            "source": stored(source_of(cell, number), cell[2]),
        }
        for number, cell in enumerate(made, 1)
    ]
    return json.dumps({"cells": held, "metadata": {}, "nbformat": 4}, indent=1).encode()


def sources(data: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(data)["cells"]]


def checked(data: bytes, mode: Mode) -> FileResult:
    result = check_item(Target(Path("/project/nb.ipynb"), Config(Path("/project")), data), Work(mode))
    assert result.error is None, result.traceback
    return result


def lines_of(source: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", source)


def parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def require_places(result: FileResult, data: bytes) -> dict[int, list[str]]:
    """Each finding's text stands where it is said to be; the codes found, by cell."""
    found: dict[int, list[str]] = {}
    held = sources(data)
    for finding in result.findings:
        place = result.place(finding.span.start)
        assert place.cell is not None
        line = lines_of(held[place.cell - 1])[place.line - 1]
        reported = lines_of(result.source.text[finding.span.start : finding.span.end])[0]
        assert line[place.column - 1 :].startswith(reported)
        excerpt, span = result.excerpt(finding.span)
        assert (
            excerpt.text[span.start : span.end] == result.source.text[finding.span.start : finding.span.end]
        )
        assert excerpt.text.rstrip("\r\n") == held[place.cell - 1].rstrip("\r\n")
        if finding.code == "WL101":
            assert reported == IS_FOUND
        elif finding.code == "WL001":
            assert not parses(held[place.cell - 1]) and reported == line
        found.setdefault(place.cell, []).append(finding.code)
    return found


EVERYTHING: list[Cell] = [
    (IMPORTS, "\n", True, False),
    (FOUND, "\r", False, False),
    *((text, "\n", True, False) for text in (*PYTHON, *BROKEN, *OTHER)),
    (FOUND, "\r\n", True, False),
]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(cells, min_size=1, max_size=7))
@example(EVERYTHING)
@example([(IMPORTS, "\n", False, False), (FOUND, "\r", False, False), (BROKEN[0], "\n", False, False)])
def test_findings_and_fixes_stay_in_their_cells(made: list[Cell]) -> None:
    made = [(IMPORTS, "\n", False, False), *made]
    data = notebook(made)
    before = sources(data)
    found = require_places(checked(data, Mode.CHECK), data)
    broken = [number for number, cell in enumerate(made, 1) if cell[0] in BROKEN and not cell[3]]
    assert [number for number, codes in found.items() if "WL001" in codes] == broken[:1]
    wanted = {number for number, cell in enumerate(made, 1) if cell[0] in PYTHON and not cell[3]}
    assert {number for number, codes in found.items() if "WL101" in codes} == wanted

    result = checked(data, Mode.FIX)
    assert result.fixed == len(wanted) and result.bytes is not None
    after = sources(result.bytes)
    assert after == [
        source.replace(IS_FOUND, IS_MENDED) if number in wanted else source
        for number, source in enumerate(before, 1)
    ]
    left = require_places(result, result.bytes)
    assert left == ({broken[0]: ["WL001"]} if broken else {})
    assert checked(result.bytes, Mode.CHECK).findings == result.findings
