"""What did not change is not judged again, wherever it stands; what rests on a change is."""

from __future__ import annotations

import pytest
from probes import DeviceProbe, Probe, RelatedProbe, analyze, reported

from warplint.static.facts import Facts
from warplint.static.inference.unit import Unit
from warplint.static.rules.rule import Rule

IMPORT = "import torch\nfrom torch import nn\n"
NET = "class Net(nn.Module):\n    def forward(self, x):\n        return torch.zeros(3)\n"
OTHER = "def other():\n    return torch.ones(3)\n"


def judged(before: str, after: str, rule: Probe) -> tuple[int, list[tuple[str, str]]]:
    """How many sites are judged in the second version, after the first, and what is reported."""
    first = analyze(before, rule)
    rule.asked = 0
    second = analyze(after, rule, previous=first)
    fresh = analyze(after, type(rule)())
    assert second.findings == fresh.findings, "reuse must not change what is found"
    return rule.asked, reported(second)


UNRELATED = {
    "nothing changed": (IMPORT + NET + OTHER, 0),
    "a line above": ("# title\n\n" + IMPORT + NET + OTHER, 0),
    "another function": (IMPORT + NET + OTHER.replace("3", "33"), 1),
    "another statement between": (IMPORT + NET + "x = 1\n" + OTHER, 0),
    "the order": (IMPORT + OTHER + NET, 0),
    "one is gone": (IMPORT + OTHER, 0),
    "the same twice": (IMPORT + NET + OTHER + OTHER, 1),
    "wide characters above": ("# 🦆\n" + IMPORT + NET + OTHER, 0),
    "windows line ends above": ("x = 1\r\n" + IMPORT + NET + OTHER, 0),
}


@pytest.mark.parametrize(("after", "expected"), UNRELATED.values(), ids=UNRELATED)
def test_unchanged_chunks_are_not_judged_again(after: str, expected: int) -> None:
    asked, _ = judged(IMPORT + NET + OTHER, after, Probe())
    assert asked == expected


HELPER = "def helper(n):\n    return torch.zeros(n)\n"

RELATED = {
    "hotness through a caller": (
        IMPORT + HELPER + "class Net(nn.Module):\n    def __init__(self):\n        helper(3)\n",
        IMPORT + HELPER + "class Net(nn.Module):\n    def forward(self):\n        helper(3)\n",
        [("torch.zeros(n)", "cpu, step")],
    ),
    "hotness through a new caller": (
        IMPORT + HELPER,
        IMPORT + HELPER + "class Net(nn.Module):\n    def forward(self):\n        helper(3)\n",
        [("torch.zeros(n)", "cpu, step")],
    ),
    "the role of a base": (
        IMPORT + "class Base:\n    pass\n" + NET.replace("nn.Module", "Base"),
        IMPORT + "class Base(nn.Module):\n    pass\n" + NET.replace("nn.Module", "Base"),
        [("torch.zeros(3)", "cpu, step")],
    ),
    "an import": (
        IMPORT + NET,
        IMPORT.replace("import torch\n", "import other as torch\n") + NET,
        [],
    ),
    "a default device": (
        IMPORT + NET,
        IMPORT + "torch.set_default_device('cuda')\n" + NET,
        [("torch.zeros(3)", "accelerator, step")],
    ),
    "a module variable": (
        IMPORT + "place = 'cpu'\ndef f():\n    return torch.zeros(3, device=place)\n",
        IMPORT + "place = 'cuda'\ndef f():\n    return torch.zeros(3, device=place)\n",
        [("torch.zeros(3, device=place)", "accelerator, unknown")],
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), RELATED.values(), ids=RELATED)
def test_a_chunk_is_judged_again_when_what_it_rests_on_changed(
    before: str, after: str, expected: list[tuple[str, str]]
) -> None:
    _, found = judged(before, after, Probe())
    assert found == expected


VALUES = {
    "what the module's statements leave behind": (
        IMPORT + "x = torch.zeros(3)\n" + "y = torch.ones(x)\n",
        IMPORT + "x = torch.zeros(3).cuda()\n" + "y = torch.ones(x)\n",
        "accelerator",
    ),
    "what they leave behind later": (
        IMPORT + "x = torch.zeros(3)\n" + "def f():\n    return torch.ones(x)\n",
        IMPORT + "x = torch.zeros(3)\n" + "def f():\n    return torch.ones(x)\n" + "x = x.cuda()\n",
        "accelerator",
    ),
    "what a caller hands over": (
        IMPORT + "def f(x):\n    return torch.ones(x)\n" + "def g():\n    return f(torch.zeros(1).cpu())\n",
        IMPORT + "def f(x):\n    return torch.ones(x)\n" + "def g():\n    return f(torch.zeros(1).cuda())\n",
        "accelerator",
    ),
    "what a helper gives": (
        IMPORT + "def f():\n    return torch.zeros(1)\n" + "def g():\n    return torch.ones(f())\n",
        IMPORT + "def f():\n    return torch.zeros(1).cuda()\n" + "def g():\n    return torch.ones(f())\n",
        "accelerator",
    ),
    "what a base keeps": (
        IMPORT
        + "class A:\n    def __init__(self):\n        self.t = torch.zeros(1)\n"
        + "class B(A):\n    def f(self):\n        return torch.ones(self.t)\n",
        IMPORT
        + "class A:\n    def __init__(self):\n        self.t = torch.zeros(1).cuda()\n"
        + "class B(A):\n    def f(self):\n        return torch.ones(self.t)\n",
        "accelerator",
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), VALUES.values(), ids=VALUES)
def test_values_that_come_from_another_chunk(before: str, after: str, expected: str) -> None:
    _, found = judged(before, after, DeviceProbe())
    assert [message for _, message in found] == [expected]


def test_a_line_that_does_not_matter_to_a_caller_is_no_reason() -> None:
    before = IMPORT + HELPER + "class Net(nn.Module):\n    def forward(self):\n        helper(3)\n"
    asked, _ = judged(before, before.replace("helper(3)", "helper(4)"), Probe())
    assert asked == 0


def test_a_call_by_a_name_that_an_import_binds_anew_is_looked_at() -> None:
    function = "def make():\n    return filled(3)\n"
    first = analyze(IMPORT + function, Probe())
    imported = "from torch import zeros as filled\n"
    assert reported(analyze(imported + IMPORT + function, Probe(), previous=first)) == reported(
        analyze(imported + IMPORT + function, Probe())
    )


PROGRAM = """\
def loss_of(model, batch):
    return model(batch).sum()

def step(model, batch, optimizer):
    loss_of(model, batch).backward()
    optimizer.step()
    def log():
        return torch.ones(3)
    log()

def helper(n):
    return torch.zeros(n)

class Base(nn.Module):
    def forward(self, x):
        return helper(3)

class Net(Base):
    def prepare(self, x):
        return torch.ones(3)

def epoch(model, items, optimizer):
    for item in items:
        step(model, item, optimizer)
        again(2)

def again(n):
    helper(n)
    return other(n - 1)

def other(n):
    return again(n) or torch.ones(n)

def main(model, items, optimizer):
    for number in range(3):
        epoch(model, items, optimizer)
        helper(number)
"""
CHANGED_LINES = {
    "a step is one no more": ("    loss_of(model, batch).backward()\n    optimizer.step()\n", "    pass\n"),
    "a step is one no more, by half": ("    optimizer.step()\n", ""),
    "a caller is gone": ("        helper(number)\n", ""),
    "a loop over steps is gone": ("        step(model, item, optimizer)\n", ""),
    "a helper is the data set's": (
        "    for number in",
        "    nn.DataLoader(collate_fn=helper)\n    for number in",
    ),
    "a class is a module no more": ("class Base(nn.Module)", "class Base"),
    "a class has another base": ("class Net(Base)", "class Net"),
    "a function has another name": ("def helper", "def helped"),
    "functions that run each other do so no more": ("    return other(n - 1)\n", "    return n\n"),
    "a statement between": ("def main", "x = 1\ndef main"),
    "a nested function is handed over": ("    log()\n", "    nn.DataLoader(collate_fn=log)\n"),
}


@pytest.mark.parametrize("change", CHANGED_LINES.values(), ids=CHANGED_LINES)
def test_how_often_functions_run_is_the_same_after_an_edit_and_after_taking_it_back(
    change: tuple[str, str],
) -> None:
    before = IMPORT + PROGRAM
    after = IMPORT + PROGRAM.replace(*change)
    assert before != after
    analysis = analyze(before, Probe())
    for text in (after, before, after.replace("batch)", "batch"), after):
        analysis = analyze(text, Probe(), previous=analysis)
        if text in (before, after):
            assert analysis.findings == analyze(text, Probe()).findings


def test_a_finding_that_points_into_another_chunk_is_judged_again_when_that_moves() -> None:
    text = IMPORT + "size = 3\ndef f():\n    return torch.ones(size)\n"
    first = analyze(text, RelatedProbe())
    moved = analyze(text.replace("size = 3", "x = 1\nsize = 3"), RelatedProbe(), previous=first)
    (finding,) = moved.findings
    assert moved.source.text[finding.related[0].span.start : finding.related[0].span.end] == "3"


def test_facts_of_a_kept_finding_belong_to_the_new_version() -> None:
    first = analyze(IMPORT + NET, Probe())
    second = analyze("# a line more\n" + IMPORT + NET, Probe(), previous=first)
    (finding,) = second.findings
    site = second.sites[finding]
    assert site.facts.span(site.node) == finding.span
    assert site.facts.value(site.node).on_cpu
    span = site.facts.span(site.facts.statement(site.node))
    assert second.source.text[span.start : span.end] == "return torch.zeros(3)"


class Silent(Probe):
    def describe(self, node: object, facts: Facts) -> str:
        return "nothing asked"


def test_a_rule_that_asks_nothing_is_asked_nothing_again() -> None:
    rule: Rule = Silent()
    asked, _ = judged(IMPORT + OTHER, IMPORT + "x = 1\n" + OTHER, Silent())
    assert asked == 0 and rule.code == "WL990"


@pytest.mark.parametrize(("before", "after", "expected"), VALUES.values(), ids=VALUES)
def test_what_an_answer_rests_on_is_remembered_while_other_things_change(
    before: str, after: str, expected: str
) -> None:
    rule = DeviceProbe()
    version = analyze(before, rule)
    for unrelated in ("def other(n):\n    return n\n", "def other(n):\n    return n + 1\n", ""):
        version = analyze(before + unrelated, rule, previous=version)
    changed = analyze(after, rule, previous=version)
    assert [message for _, message in reported(changed)] == [expected]
    assert changed.findings == analyze(after, DeviceProbe()).findings


def test_functions_that_have_nothing_to_do_with_an_edit_are_not_evaluated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = [
        f"class Net{n}(nn.Module):\n    def __init__(self):\n        self.t = torch.zeros({n})\n"
        f"    def forward(self, x):\n        return torch.ones(self.t)\n"
        f"def train{n}(loader):\n    net = Net{n}()\n    return torch.ones(net(loader))\n"
        for n in range(20)
    ]
    rule = DeviceProbe()
    first = analyze(IMPORT + "".join(parts), rule)
    parts[7] = parts[7].replace("return torch.ones(net", "x = 1\n    return torch.ones(net")

    evaluated: list[object] = []
    evaluate = Unit.evaluate
    monkeypatch.setattr(
        Unit, "evaluate", lambda self, body, env: (evaluated.append(body[0]), evaluate(self, body, env))[1]
    )
    second = analyze(IMPORT + "".join(parts), rule, previous=first)
    # The edited function, what it calls in its own class, and the module's own statements.
    assert 1 <= len(evaluated) <= 5
    assert second.findings == analyze(IMPORT + "".join(parts), DeviceProbe()).findings


SELF_FED = {
    "a variable that a function of it sets": (
        "state = None\ndef step():\n    return torch.ones(state)\n"
        "for _ in range(3):\n    state = step().cuda()\n"
    ),
    "two functions that read each other's": (
        "a = b = None\ndef f():\n    return torch.ones(b).cuda()\ndef g():\n    return torch.ones(a)\n"
        "for _ in range(3):\n    a, b = f(), g()\n"
    ),
}


@pytest.mark.parametrize("text", SELF_FED.values(), ids=SELF_FED)
def test_what_is_found_in_a_program_that_feeds_itself_is_the_same_after_an_edit(text: str) -> None:
    first = analyze(IMPORT + text, DeviceProbe())
    second = analyze(IMPORT.replace("nn\n", "nn  # layers\n") + text, DeviceProbe(), previous=first)
    assert reported(second) == reported(first)


def test_what_one_program_holds_is_not_taken_for_what_another_like_it_holds() -> None:
    text = IMPORT + "parts = [torch.zeros(3) for _ in range(3)]\nfor part in parts:\n    torch.ones(part)\n"
    analyze(text, RelatedProbe())
    (finding,) = analyze("# another\n" + text, RelatedProbe()).findings
    assert finding.message == "seen"
