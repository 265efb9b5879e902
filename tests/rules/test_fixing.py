"""Fixes reach the text of their site, whatever stands around it, and nothing else."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.analyze import Analyzer
from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Edit
from warplint.static.fixing import MAX_ROUNDS, FixResult, apply_edits, edits, fix_reported
from warplint.static.rules.rule import At, Metric, Rewrite, Rule, Signature, Verdict, wants

if TYPE_CHECKING:
    import libcst as cst


class Rewriting(Rule):
    """Rewrites calls of ``torch.zeros`` in the way a test asks for."""

    code = "WL991"
    name = "rewriting-calls"
    wants = wants(calls=["torch.zeros"])
    proof = Signature(At.LINE, Metric.WAIT)
    fires = ()
    quiet = ()

    def __init__(self, instead: str, imports: tuple[str, ...] = (), safety: str = "safe") -> None:
        self.instead = instead
        self.imports = imports
        self.safety = Applicability(safety)

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        return Verdict(node, "Seen.", Confidence.CERTAIN, self.safety)

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        """``instead`` with ``{arguments}`` replaced by the arguments as they stand."""
        import libcst as cst

        assert isinstance(node, cst.Call)
        code = cst.Module([]).code_for_node(node)
        arguments = code[code.index("(") + 1 : -1]
        text = self.instead.replace("{arguments}", arguments)
        return Rewrite(cst.parse_expression(text), self.imports)


class Breaking(Rewriting):
    """Adds an argument beside a generator, which then lacks its own parentheses."""

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call)
        return Rewrite(node.with_changes(args=[*node.args, cst.Arg(cst.Integer("4"))]))


def fixed(text: str, rule: Rule | None = None, unsafe: bool = False) -> FixResult:
    rule = rule or Rewriting("made({arguments})")
    return fix_reported(
        Analyzer([rule]), SourceText(text, Path("site.py")), lambda analysis: analysis.findings, unsafe
    )


SPLICES = {
    "plain": ("x = torch.zeros(3)\n", "x = made(3)\n"),
    "no end of line at the end": ("x = torch.zeros(3)", "x = made(3)"),
    "tabs": ("if y:\n\tx = torch.zeros(3)\n", "if y:\n\tx = made(3)\n"),
    "windows line ends": (
        "if y:\r\n    x = torch.zeros(\r\n        3,\r\n    )\r\n",
        "if y:\r\n    x = made(\r\n        3,\r\n    )\r\n",
    ),
    "wide characters before it": (
        'x = "häßlich 🦆"; y = torch.zeros(3)\n',
        'x = "häßlich 🦆"; y = made(3)\n',
    ),
    "wide characters inside it": ('x = torch.zeros("🦆", ü)\n', 'x = made("🦆", ü)\n'),
    "a triple-quoted string before it, indented": (
        'def f():\n    x = """a\n  b\n""", torch.zeros(3)\n    return x\n',
        'def f():\n    x = """a\n  b\n""", made(3)\n    return x\n',
    ),
    "a triple-quoted string inside it": (
        'def f():\n    return torch.zeros("""a\nb""", 3)\n',
        'def f():\n    return made("""a\nb""", 3)\n',
    ),
    "comments inside it": (
        "x = torch.zeros(  # rows\n    3,  # three\n)\n",
        "x = made(  # rows\n    3,  # three\n)\n",
    ),
    "two in a statement": ("x = torch.zeros(3) + torch.zeros(4)\n", "x = made(3) + made(4)\n"),
    "one in another": ("x = torch.zeros(int(torch.zeros(3)))\n", "x = made(int(made(3)))\n"),
    "after a semicolon": ("x = 1; y = torch.zeros(3)\n", "x = 1; y = made(3)\n"),
    "on the line of its block": ("if y: x = torch.zeros(3)\n", "if y: x = made(3)\n"),
    "the header of an elif": (
        "def f():\n    if y:\n        z\n    elif torch.zeros(3):\n        z\n    else:\n        z\n",
        "def f():\n    if y:\n        z\n    elif made(3):\n        z\n    else:\n        z\n",
    ),
    "the header of a loop": (
        "for x in torch.zeros(3):\n    pass\nelse:\n    pass\n",
        "for x in made(3):\n    pass\nelse:\n    pass\n",
    ),
    "a default value": ("def f(x=torch.zeros(3)):\n    pass\n", "def f(x=made(3)):\n    pass\n"),
    "a line continued by a backslash": ("x = 1 + \\\n  torch.zeros(3)\n", "x = 1 + \\\n  made(3)\n"),
    "a broken line in outer brackets": (
        "x = (\n    torch\n    .zeros(3)\n)\n",
        "x = (\n    made(3)\n)\n",
    ),
    "a class body": ("class A:\n  x: int = torch.zeros(3)\n", "class A:\n  x: int = made(3)\n"),
    "an await": (
        "async def f():\n    await g(torch.zeros(3))\n",
        "async def f():\n    await g(made(3))\n",
    ),
    "a match": (
        "match torch.zeros(3):\n    case 1:\n        pass\n",
        "match made(3):\n    case 1:\n        pass\n",
    ),
    "form feeds": ("\x0cx = torch.zeros(3)\n", "\x0cx = made(3)\n"),
}


@pytest.mark.parametrize(("text", "expected"), SPLICES.values(), ids=SPLICES)
def test_only_the_site_changes(text: str, expected: str) -> None:
    head = "import torch" + ("\r\n" if "\r" in text else "\n")
    result = fixed(head + text)
    assert result.text == head + expected
    assert len(result.applied) == text.count("zeros") and not result.left


def test_a_site_in_an_f_string_is_fixed_where_its_place_is_known() -> None:
    """Before Python 3.12, ast puts what is inside f-strings in the wrong place: such a site is left alone."""
    text = 'import torch\nx = f"""a\n{torch.zeros(3)}"""\n'
    result = fixed(text)
    assert result.text == (text.replace("torch.zeros", "made") if sys.version_info >= (3, 12) else text)


def test_an_operator_is_put_in_parentheses() -> None:
    assert fixed("import torch\nx = 2 * torch.zeros(3)\n", Rewriting("a + b")).text == (
        "import torch\nx = 2 * (a + b)\n"
    )


def test_a_fix_that_would_not_parse_is_dropped() -> None:
    text = "import torch\nx = torch.zeros(y for y in z)\n"
    result = fixed(text, Breaking(""))
    assert result.text == text
    assert not result.applied and len(result.left) == 1


def test_a_fix_that_never_settles_ends() -> None:
    result = fixed("import torch\nx = torch.zeros(3)\n", Rewriting("torch.zeros({arguments}, 0)"))
    assert result.text == f"import torch\nx = torch.zeros(3{', 0' * MAX_ROUNDS})\n"


def test_an_unsafe_fix_waits_to_be_asked_for() -> None:
    text = "import torch\nx = torch.zeros(3)\n"
    unsafe = Rewriting("made({arguments})", safety="unsafe")
    assert fixed(text, unsafe).text == text
    assert fixed(text, unsafe, unsafe=True).text == "import torch\nx = made(3)\n"


def test_a_finding_without_fix_has_no_edits() -> None:
    text = "import torch\nx = torch.zeros(3)\n"
    analysis = Analyzer([Rewriting("made()", safety="none")]).analyze(SourceText(text, Path("site.py")))
    assert [edits(analysis, finding) for finding in analysis.findings] == [()]


def test_an_edit_leaves_the_characters_that_stay() -> None:
    """An editor keeps cursors and marks outside an edit where they are."""
    text = "import torch\nx = torch.zeros(3)\n"
    analysis = Analyzer([Rewriting("torch.zeros({arguments}, 4)")]).analyze(SourceText(text, Path("site.py")))
    place = text.index(")")
    assert edits(analysis, analysis.findings[0]) == (Edit(Span(place, place), ", 4"),)


IMPORTS = {
    "below the imports": (
        '"""Doc."""\nfrom __future__ import annotations\nimport torch\n\nx = torch.zeros(3)\n',
        '"""Doc."""\nfrom __future__ import annotations\nimport torch\nimport a.b\n\nx = made(3)\n',
    ),
    "once for two sites": (
        "import torch\nx = torch.zeros(3)\ny = torch.zeros(4)\n",
        "import torch\nimport a.b\nx = made(3)\ny = made(4)\n",
    ),
    "not when it is there": (
        "import torch\nx = 3\nimport a.b\nx = torch.zeros(3)\n",
        "import torch\nx = 3\nimport a.b\nx = made(3)\n",
    ),
    "when only another name of it is there": (
        "import torch\nimport a.b as c\nx = torch.zeros(3)\n",
        "import torch\nimport a.b as c\nimport a.b\nx = made(3)\n",
    ),
    "below an import over several lines": (
        "import torch\nfrom os import (\n    path,\n)\nx = torch.zeros(3)\n",
        "import torch\nfrom os import (\n    path,\n)\nimport a.b\nx = made(3)\n",
    ),
    "with the line ends of the file": (
        "import torch\r\nx = torch.zeros(3)\r\n",
        "import torch\r\nimport a.b\r\nx = made(3)\r\n",
    ),
    "nowhere in a file of one line, which stays as it is": (
        "import torch; x = torch.zeros(3)\n",
        "import torch; x = torch.zeros(3)\n",
    ),
    "above the first statement without imports": (
        "# comment\n@zeros.decorate\ndef f():\n    import torch\n    torch.zeros(3)\n",
        "# comment\nimport a.b\n@zeros.decorate\ndef f():\n    import torch\n    made(3)\n",
    ),
}


@pytest.mark.parametrize(("text", "expected"), IMPORTS.values(), ids=IMPORTS)
def test_an_import_goes_with_the_others_once(text: str, expected: str) -> None:
    assert fixed(text, Rewriting("made({arguments})", imports=("a.b",))).text == expected


def test_two_imports_of_one_fix_are_both_added() -> None:
    result = fixed("import torch\nx = torch.zeros(3)\n", Rewriting("made({arguments})", imports=("a", "b")))
    assert result.text == "import torch\nimport a\nimport b\nx = made(3)\n"


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("abcdef", [(1, 2, "X"), (4, 5, "")], "aXcdf"),
        ("abc", [(1, 1, "X"), (1, 1, "X")], "aXbc"),
        ("abc", [(1, 2, "X"), (2, 3, "Y")], "aXY"),
        ("", [(0, 0, "X")], "X"),
    ],
)
def test_edits_are_made_from_front_to_back(
    text: str, changes: Sequence[tuple[int, int, str]], expected: str
) -> None:
    assert apply_edits(text, [Edit(Span(start, end), new) for start, end, new in changes]) == expected


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap at 1"):
        apply_edits("abc", [Edit(Span(0, 2), "X"), Edit(Span(1, 3), "Y")])
