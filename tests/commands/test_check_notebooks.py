"""``warplint check`` on notebooks: cells and lines in every format, and fixes in their cells."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

from command_line import CommandLine
from samples import SAFE, SAFE_FIXED

LINE = "        steps = torch.arange(x.shape[1]).to(x.device)"
IMPORTS, NET = SAFE.split("\n\n\n")
FIXED = SAFE_FIXED.split("\n\n\n")[1]


def notebook(*sources: str) -> str:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]},
        *(
            {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [{"text": ["é"]}],
                "source": source.splitlines(keepends=True),
            }
            for source in sources
        ),
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=1, ensure_ascii=False) + "\n"


BOOK = notebook("%matplotlib inline\n" + IMPORTS, "!ls\n" + NET)


def test_places_are_cells_and_lines_in_every_format(warplint: CommandLine) -> None:
    warplint.write("nb.ipynb", BOOK)
    concise = warplint("check", "--format", "concise")
    assert concise.returncode == 1
    assert concise.stdout.startswith("nb.ipynb:cell 3:4:17: WL101 ")
    text = warplint("check").stdout
    assert "\n --> nb.ipynb:cell 3:4:17\n" in text
    assert f"\n4 | {LINE}\n" in text and "\n2 | class Rotary(nn.Module):\n" in text
    assert "cell" not in text.replace("nb.ipynb:cell 3", "") and "\ue000" not in text
    (found,) = json.loads(warplint("check", "--format", "json").stdout)
    assert (found["cell"], found["line"], found["column"], found["end_line"]) == (3, 4, 17, 4)
    github = warplint("check", "--format", "github").stdout
    assert "nb.ipynb:cell 3:4:17: WL101" in github and ",line=" not in github
    (issue,) = json.loads(warplint("check", "--format", "gitlab").stdout)
    assert issue["description"].startswith("cell 3, line 4: WL101")
    case = ET.fromstring(warplint("check", "--format", "junit").stdout).find("testsuite/testcase")
    assert case is not None and (case.get("name") or "").endswith("(cell 3:4:17)")
    (result,) = json.loads(warplint("check", "--format", "sarif").stdout)["runs"][0]["results"]
    (location,) = result["locations"]
    assert location["logicalLocations"] == [{"name": "cell 3"}]
    assert location["physicalLocation"]["region"]["startLine"] == 4


def test_a_fix_changes_its_cell_and_nothing_else(warplint: CommandLine) -> None:
    file = warplint.write("nb.ipynb", BOOK)
    diff = warplint("check", "--diff").stdout
    assert "\n # cell 3\n" in diff or "\n@@" in diff
    assert f"\n-{LINE}\n" in diff and "\ue001" not in diff
    assert file.read_text(encoding="utf-8") == BOOK
    done = warplint("check", "--fix")
    assert (done.returncode, done.stdout) == (0, "Found 1 finding (1 fixed).\n")
    fixed = notebook("%matplotlib inline\n" + IMPORTS, "!ls\n" + FIXED)
    assert file.read_text(encoding="utf-8") == fixed
    assert warplint("check", "-", "--stdin-filename", "x.ipynb", "--fix", stdin=BOOK).stdout == fixed


def test_comments_silence_in_cells_too(warplint: CommandLine) -> None:
    file = warplint.write("nb.ipynb", BOOK)
    assert warplint("check", "--add-ignore").returncode == 0
    silenced = NET.replace(LINE, f"{LINE}  # warplint: ignore[WL101]")
    assert file.read_text(encoding="utf-8") == notebook("%matplotlib inline\n" + IMPORTS, "!ls\n" + silenced)
    assert warplint("check").returncode == 0


def test_a_cell_that_does_not_parse_is_named_and_the_others_are_checked(warplint: CommandLine) -> None:
    warplint.write("nb.ipynb", notebook("x = 1\nprint 'a'\n", IMPORTS, NET, "y = ("))
    lines = warplint("check", "--format", "concise").stdout.splitlines()
    assert lines[0].startswith("nb.ipynb:cell 2:2:1: WL001 ") and "(1 more such in this file)" in lines[0]
    assert lines[1].startswith("nb.ipynb:cell 4:3:17: WL101 ")
    assert len(lines) == 2


def test_half_a_character_is_shown_as_none_and_stays(warplint: CommandLine) -> None:
    book = notebook(IMPORTS, "x = 'HALF'", NET).replace("HALF", r"\ud83d")
    file = warplint.write("nb.ipynb", book)
    shown = warplint("check", "--fix").stdout
    assert " --> nb.ipynb:cell 3:1:1\n" in shown and "1 | x = '\ufffd'\n" in shown
    assert file.read_text(encoding="utf-8") == notebook(IMPORTS, "x = 'HALF'", FIXED).replace(
        "HALF", r"\ud83d"
    )


def test_what_is_no_notebook_is_a_finding(warplint: CommandLine) -> None:
    warplint.write("nb.ipynb", '{"cells": [\n}')
    done = warplint("check", "--format", "concise")
    assert done.stdout.startswith("nb.ipynb:2:1: WL001 the notebook is not valid JSON")


def test_a_notebook_comes_from_the_cache_as_it_was(warplint: CommandLine) -> None:
    warplint.write("pyproject.toml", "")
    warplint.write("nb.ipynb", BOOK)
    first = warplint("check")
    assert list((warplint.folder / ".warplint_cache").iterdir())
    assert warplint("check").stdout == first.stdout
    assert warplint("check", "--no-cache").stdout == first.stdout


def test_a_baseline_knows_the_functions_of_cells(warplint: CommandLine) -> None:
    file = warplint.write("nb.ipynb", BOOK)
    warplint("check", "--baseline", "known.json", "--write-baseline")
    file.write_text(notebook("x = 1", IMPORTS, "!ls\n" + NET), encoding="utf-8")
    assert warplint("check", "--baseline", "known.json").returncode == 0
