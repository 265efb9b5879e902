"""Rules are shown the sites they want, and no others."""

from __future__ import annotations

import ast

import pytest
from probes import Probe, analyze, reported

from warplint.static.facts import Facts
from warplint.static.rules.rule import Wants, wants
from warplint.static.tables.frameworks import shows_pytorch

CALLS = wants(calls=["torch.arange"])
METHODS = wants(methods=["item"])
BUILTINS = wants(builtins=["float"])
CONDITIONS = wants(conditions=True)
FORMATS = wants(formats=True)
SUBSCRIPTS = wants(subscripts=True)
ADDED = wants(added=True)
SETTINGS = wants(settings=["torch.backends.cudnn.enabled", "os.environ.CUDA_LAUNCH_BLOCKING"])

SITES: dict[str, tuple[Wants, str, list[str]]] = {
    "a call by its module": (CALLS, "torch.arange(3)", ["torch.arange(3)"]),
    "a call by another name": (CALLS, "from torch import arange as ar\nar(3)", ["ar(3)"]),
    "a name imported in a function": (
        CALLS,
        "def f():\n    from torch import arange as ar\n    ar(3)",
        ["ar(3)"],
    ),
    "another library's function": (CALLS, "import numpy as np\nnp.arange(3)", []),
    "a local function of that name": (CALLS, "def arange(n):\n    pass\narange(3)", []),
    "nested calls": (
        CALLS,
        "torch.arange(torch.arange(3))",
        ["torch.arange(torch.arange(3))", "torch.arange(3)"],
    ),
    "in a decorator, a default and a class": (
        CALLS,
        "@d(torch.arange(1))\ndef f(x=torch.arange(2)):\n    pass\nclass C:\n    y = torch.arange(3)",
        ["torch.arange(1)", "torch.arange(2)", "torch.arange(3)"],
    ),
    "in a lambda and a comprehension": (
        CALLS,
        "f = lambda: torch.arange(1)\n[torch.arange(2) for _ in torch.arange(3) if torch.arange(4)]",
        ["torch.arange(1)", "torch.arange(2)", "torch.arange(3)", "torch.arange(4)"],
    ),
    "a name handed over is no call": (CALLS, "map(torch.arange, x)", []),
    "a method": (METHODS, "x[0].item()\nitem()", ["x[0].item()"]),
    "a method of a call": (METHODS, "f(x).item().item()", ["f(x).item()", "f(x).item().item()"]),
    "a built-in": (BUILTINS, "float(x)\nx.float()", ["float(x)"]),
    "a built-in that is hidden": (BUILTINS, "def f(float):\n    return float(x)", []),
    "an if": (CONDITIONS, "if x:\n    pass\nelif y:\n    pass", ["x", "y"]),
    "a while, an assert, a conditional expression": (
        CONDITIONS,
        "while x:\n    pass\nassert y\nz = 1 if w else 2",
        ["x", "y", "w"],
    ),
    "filters of comprehensions and guards of cases": (
        CONDITIONS,
        "[a for a in b if c]\nmatch x:\n    case [y] if z:\n        pass",
        ["c", "z"],
    ),
    "the parts of and, or, not": (
        CONDITIONS,
        "if a and (b or not c) and not (d and e):\n    pass",
        [*"abcde"],
    ),
    "a value of and": (CONDITIONS, "x = a and b and c", ["a", "b"]),
    "a value of or inside a test": (CONDITIONS, "if f(a or b):\n    pass", ["f(a or b)", "a"]),
    "a negated value": (CONDITIONS, "x = not a", ["a"]),
    "comparisons": (CONDITIONS, "if a > 0 and b == c:\n    pass", ["a > 0", "b == c"]),
    "conditions that no tensor can decide": (
        CONDITIONS,
        "if a is None and b is not c and isinstance(d, int) and e == 'x' and len(f) > 1 and self.training"
        " and g.shape[0] > 2 and h.size(1) == i and j.dtype == k and hasattr(l, 'm') and n in o:\n    pass",
        [],
    ),
    "subscripts, read and written": (
        SUBSCRIPTS,
        "y = x[mask]\nx[keep] = y\nx[~mask] += 1\nx[y > 0], x[:, rows]",
        ["x[mask]", "x[keep]", "x[~mask]", "x[y > 0]", "x[:, rows]"],
    ),
    "lists and bounds as indices": (SUBSCRIPTS, "x[[0, 2]]\nx[:found]", ["x[[0, 2]]", "x[:found]"]),
    "indices that are no tensors": (
        SUBSCRIPTS,
        "x[0], x[-1], x['a'], x[:], x[None, ...], x[1:3], x[:N], x[step], x[f'{a}'], x[len(y)]\n"
        "z: list[int] = w",
        [],
    ),
    "counters and sizes": (CONDITIONS, "if step > 3 and x % H:\n    pass\nif H > 3:\n    pass", ["x % H"]),
    "settings": (
        CONDITIONS,
        "if args.loud and cfg.model.deep and self.config.wide:\n    pass\nif found.loud:\n    pass",
        ["found.loud"],
    ),
    "parameters that are flags": (
        CONDITIONS,
        "def f(a, b=False, c: int = None, d=None, use_e=None, g=1):\n    g = h(a)\n"
        "    if a and b and c and d and use_e and g:\n        pass",
        ["a", "d", "g"],
    ),
    "attributes that are set to more than a setting": (
        CONDITIONS,
        "class C:\n    def __init__(self, a):\n        self.a = a\n        self.b = 3\n"
        "        self.c = h(a)\n"
        "        self.d = nn.Linear(3, 3)\n        self.register_buffer('e', a)\n        self.f = len(a)\n"
        "    def g(self):\n"
        "        if self.a and self.b and self.c and self.d and self.e and self.f and self.h:\n"
        "            pass",
        ["self.c", "self.e"],
    ),
    "a field of an f-string": (FORMATS, "y = x\nf'{y:.3f}'", ["f'{y:.3f}'"]),
    "what is added to a name or attribute": (
        ADDED,
        "total += loss\nself.total = self.total + loss * 2\nlosses[0] += rest\ncount += 1\n"
        "total -= a\nx = y + loss\nx = 1 + x",
        ["loss", "loss * 2", "rest"],
    ),
    "settings of a library, by any path": (
        SETTINGS,
        "from torch.backends import cudnn\ntorch.backends.cudnn.enabled = False\ncudnn.enabled = x\n"
        "def f():\n    a, cudnn.enabled = 1, 2",
        ["torch.backends.cudnn.enabled", "cudnn.enabled", "cudnn.enabled"],
    ),
    "variables of the environment": (
        SETTINGS,
        "import os\nfrom os import environ as e\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n"
        "e['CUDA_LAUNCH_BLOCKING'] = x",
        ["os.environ['CUDA_LAUNCH_BLOCKING']", "e['CUDA_LAUNCH_BLOCKING']"],
    ),
    "settings that are read, or are others": (
        SETTINGS,
        "import os\nx = torch.backends.cudnn.enabled\ncudnn.enabled = 1\nself.enabled = 1\n"
        "d['CUDA_LAUNCH_BLOCKING'] = os.environ['CUDA_LAUNCH_BLOCKING']\nos.environ['A'] = '1'\n"
        "torch.backends.cudnn.benchmark = True\ntorch.backends.cudnn.enabled: bool",
        [],
    ),
    "what a comparison picks": (
        wants(subscripts=True),
        "def f(x, idx):\n    return x[idx != -1], x[idx in y], x[idx]",
        ["x[idx != -1]"],
    ),
    "an element that is named like a counter": (
        CONDITIONS,
        "def f(hit):\n    for idx in hit:\n        if idx == self.n:\n            pass\n"
        "    for step in range(3):\n        if step == self.n:\n            pass",
        ["idx == self.n"],
    ),
    "text in an f-string is none": (FORMATS, "f'{len(x)}{1}'", []),
}


@pytest.mark.parametrize(("wanted", "text", "expected"), SITES.values(), ids=SITES)
def test_which_sites_a_rule_is_shown(wanted: Wants, text: str, expected: list[str]) -> None:
    found = [place for place, _ in reported(analyze("import torch\n" + text, Probe(wanted)))]
    if wanted is FORMATS and expected:
        # Before Python 3.12 a field has no place of its own: the whole string is underlined.
        assert found in (expected, ["y"])
    else:
        assert found == expected


def test_each_rule_is_shown_its_own() -> None:
    calls, methods = Probe(CALLS), Probe(METHODS)
    analyze("import torch\ntorch.arange(3)\ntorch.arange(4).item()", calls, methods)
    assert (calls.asked, methods.asked) == (2, 1)


def test_a_text_that_trains_through_others_is_shown() -> None:
    probe = Probe(METHODS)
    analyze("import ours\nloss = ours.loss()\nloss.backward()\nx.item()\n", probe)
    assert probe.asked == 1


def test_a_text_without_a_framework_is_shown_to_no_rule() -> None:
    probe = Probe(METHODS)
    analysis = analyze("import numpy\nx.item()\n", probe)
    assert (probe.asked, analysis.findings, analysis.broken) == (0, (), ())


class KeywordProbe(Probe):
    """Says whether calls of the file are handed a keyword argument."""

    wants = CALLS

    def describe(self, node: ast.expr, facts: Facts) -> str:
        return str([name for name in ("dtype", "device", "more") if facts.is_given(name)])


def test_which_keywords_the_calls_of_a_file_are_handed() -> None:
    text = "import torch\ntorch.arange(3)\n\ndef f(more, **device):\n    g(dtype=1, **device)\n"
    assert [said for _, said in reported(analyze(text, KeywordProbe()))] == ["['dtype']"]


class MentionProbe(Probe):
    """Says which words stand in the file."""

    wants = CALLS

    def describe(self, node: ast.expr, facts: Facts) -> str:
        return str([word for word in ("bf16", "tf32", r"x(32|64)") if facts.mentions(word)])


def test_which_words_stand_anywhere_in_a_file() -> None:
    text = "import torch\ntorch.arange(3)\n\ndef f(model):\n    # not in bf16\n    return model.x64\n"
    assert [said for _, said in reported(analyze(text, MentionProbe()))] == ["['bf16', 'x(32|64)']"]


def test_what_a_file_mentions_is_asked_again_when_it_changes() -> None:
    text = "import torch\ntorch.arange(3)\n\n# bf16\nx = 1\n"
    probe = MentionProbe()
    first = analyze(text, probe)
    second = analyze(text.replace("bf16", "tf32"), probe, previous=first)
    assert [said for _, said in reported(second)] == ["['tf32']"]


def test_a_file_shows_by_its_methods_that_it_trains() -> None:
    assert shows_pytorch("from .models import build\nbuild().zero_grad()")
    assert not shows_pytorch("from .models import build\nbuild().run()")
