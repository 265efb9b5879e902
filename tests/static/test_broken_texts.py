"""Any text is survived; what cannot be read is said and the rest is analysed."""

from __future__ import annotations

import ast

import pytest
from probes import Probe, analyze, reported

from warplint.static.facts import Facts
from warplint.static.finding import Applicability

GOOD = "import torch\ndef f():\n    return torch.zeros(3)\n"


def test_what_is_broken_is_said_with_its_place() -> None:
    analysis = analyze(GOOD + "def g(:\n    pass\n" + GOOD.replace("import torch\n", ""), Probe())
    assert [place for place, _ in reported(analysis)] == ["torch.zeros(3)", "torch.zeros(3)"]
    (broken,) = analysis.broken
    assert analysis.source.position(broken.span.start).line == 4 and broken.message


def test_what_is_nested_too_deeply_is_said_and_the_rest_is_analysed() -> None:
    deep = "y = " + " + ".join(["torch.zeros(1)"] * 3000) + "\n"
    analysis = analyze(GOOD + deep + "x = torch.ones(2)\ndef g():\n    return torch.ones(y)\n", Probe())
    assert ("torch.zeros(3)", "cpu, unknown") in reported(analysis)
    assert ("torch.ones(2)", "cpu, once") in reported(analysis)
    assert ("torch.ones(y)", "cpu, unknown") in reported(analysis)
    (broken,) = analysis.broken
    assert "deep" in broken.message and analysis.source.position(broken.span.start).line == 4


def test_what_was_too_deep_for_a_rule_is_said_of_each_version() -> None:
    class TooDeep(Probe):
        def describe(self, node: ast.expr, facts: Facts) -> str:
            raise RecursionError

    text = GOOD + "x = torch.ones(2)\n"
    first = analyze(text, TooDeep())
    assert [text[broken.span.start :][:3] for broken in first.broken] == ["def", "x ="]
    again = analyze(text, TooDeep(), previous=first)
    edited = analyze(text + "y = 1\n", TooDeep(), previous=again)
    assert first.broken == again.broken == edited.broken


def test_each_broken_statement_is_said() -> None:
    analysis = analyze('import torch\nprint "a"\nx = 1\nexec "b"\n', Probe())
    assert [analysis.source.position(broken.span.start).line for broken in analysis.broken] == [2, 4]


def test_a_text_without_a_framework_is_said_to_be_broken_too() -> None:
    assert len(analyze('print "a"\n', Probe()).broken) == 1


def test_while_a_statement_is_broken_it_keeps_the_findings_of_its_unchanged_lines() -> None:
    text = "import torch\ndef f():\n    a = torch.zeros(3)\n    b = torch.zeros(4)\n    return a, b\n"
    before = analyze(text, Probe())
    broken = analyze("# up\n" + text.replace("return a, b", "return a,, b"), Probe(), previous=before)
    assert [place for place, _ in reported(broken)] == ["torch.zeros(3)", "torch.zeros(4)"]
    assert all(finding.fix is Applicability.NONE for finding in broken.findings)
    assert broken.sites == {}

    edited = analyze(text.replace("torch.zeros(3)", "torch.zeros(,3)"), Probe(), previous=broken)
    assert [place for place, _ in reported(edited)] == ["torch.zeros(4)"]

    mended = analyze(text, Probe(), previous=edited)
    assert mended.findings == before.findings and mended.broken == ()


def test_what_another_statement_says_is_not_kept_for_a_broken_one() -> None:
    before = analyze("import torch\nx = torch.zeros(3)\n", Probe())
    after = analyze("import torch\nx = torch.zeros(3)\ny = (\n", Probe(), previous=before)
    assert len(after.findings) == 1 and len(after.sites) == 1


SURVIVED = {
    "nothing": "",
    "blanks": " \t\n\n   ",
    "a comment": "# torch",
    "no statement but a framework": "'torch'",
    "a NUL": "import torch\nx = '\0'\n",
    "a lone surrogate": "import torch\nx = '\ud800'\n",
    "only brackets": "torch" + "(" * 3000,
    "only quotes": "torch = '''" + '"' * 1001,
    "an open f-string": "import torch\nx = f'{torch:{'\n",
    "control characters": "import torch\n\x01\x02\x1b[0m\n",
    "line separators": "import torch\nx = '\u2028'\u2028y = 1\n",
    "a very long line": "import torch\nx = [" + "1, " * 100_000 + "]\n",
    "many short statements": "import torch\n" + "x = torch.zeros(3)\n" * 3000,
    "a Windows file with old Mac lines in it": "import torch\r\nif x:\r\n\ty = 1\rz = 2\r\n",
    "deep nesting": "import torch\nx = " + "[" * 80 + "torch.zeros(1)" + "]" * 80 + "\n",
    "a long sum": "import torch\nx = " + " + ".join(["torch.zeros(1)"] * 3000) + "\n",
    "a long chain of methods": "import torch\nx = torch.zeros(1)" + ".view(1)" * 3000 + "\n",
    "a long elif chain": "import torch\ndef f(x):\n    if x:\n        pass\n"
    + "".join(f"    elif x == {i}:\n        torch.zeros(1)\n" for i in range(3000)),
    "deep blocks": "import torch\n"
    + "".join(" " * i + "if x:\n" for i in range(95))
    + " " * 95
    + "torch.zeros(1)\n",
    "deep functions": "import torch\n"
    + "".join(" " * i + f"def f{i}():\n" for i in range(90))
    + " " * 90
    + "torch.zeros(1)\n",
}


@pytest.mark.parametrize("text", SURVIVED.values(), ids=SURVIVED)
@pytest.mark.parametrize("again", [False, True], ids=["at once", "as a second version"])
def test_any_text_is_survived(text: str, again: bool) -> None:
    previous = analyze(GOOD, Probe()) if again else None
    first = analyze(text, Probe(), previous=previous)
    second = analyze(text, Probe(), previous=first)
    assert (second.findings, second.broken) == (first.findings, first.broken)
    for broken in first.broken:
        assert 0 <= broken.span.start <= broken.span.end <= len(text)


def test_every_prefix_of_a_program_is_survived() -> None:
    text = (
        "import torch\nfrom torch import nn\n\n\n@decorated\nclass Net(nn.Module):\n    '''A net.'''\n"
        '    def forward(self, x, *args, y=f"{1:{2}}", **kw):\n        for a, (b, *c) in enumerate(x):\n'
        "            with torch.no_grad() as d, e: z = [torch.zeros(q) for q in a if not q]\n"
        "        else:\n            return lambda t=1: (yield t)\n        try:\n"
        "            del self.x[a:b], y\n"
        "        except (A, B) as g:\n            raise C from g\n"
        "        match x:\n            case {'a': [1, *h]}: pass\n"
        "        return x if (w := x) is not None and b or c else {**a, 'b': torch.ones(3)[..., None]}\n"
    )
    previous = None
    for end in range(len(text) + 1):
        previous = analyze(text[:end], Probe(), previous=previous)
    assert previous is not None and previous.broken == ()
    assert previous.findings == analyze(text, Probe()).findings
