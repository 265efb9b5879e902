"""Rules are found by place and checked when they are imported."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from warplint.static.rules.registry import RuleError, load_rules

RULE = '''
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, TorchVersion, wants


class Sample(Rule):
    """A call is seen.

    ## Why is this slow?
    It is not.

    ## When it stays silent
    Never.

    ## Fix safety
    No fix.

    ## Sources
    None.
    """

    code = "WL990"
    name = "sample-call"
    wants = wants(calls=["torch.zeros"])
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.LOW
    fires = (Example("A call.", "«torch.zeros(3)»"),)
    quiet = (Example("No call.", "x = 3"),)

    def check(self, node, facts):
        return None
'''

NUMBERS = itertools.count()


class Pack:
    """A rule pack in a folder of its own, importable while the test runs."""

    def __init__(self, folder: Path) -> None:
        self.name = f"pack_{next(NUMBERS)}"
        self.folder = folder / self.name
        self.write("__init__.py", "")

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pack]:
    monkeypatch.syspath_prepend(str(tmp_path))
    made = Pack(tmp_path)
    yield made
    for name in [name for name in sys.modules if name.partition(".")[0] == made.name]:
        del sys.modules[name]


def test_the_own_pack_is_found_whole_and_in_order() -> None:
    codes = [rule.code for rule in load_rules()]
    assert codes == sorted(codes)
    assert {"WL101", "WL201", "WL301"} <= set(codes)


def test_a_new_file_in_a_family_is_a_new_rule(pack: Pack) -> None:
    pack.write("family/__init__.py", "")
    pack.write("family/second.py", RULE.replace("WL990", "WL992").replace("sample-call", "other-call"))
    pack.write("family/first.py", RULE)
    pack.write("family/_shared.py", "TABLE = {}")
    assert [(rule.code, rule.name) for rule in load_rules([pack.name])] == [
        ("WL990", "sample-call"),
        ("WL992", "other-call"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"WL990"', '"W990"', "a code is capital letters and three digits"),
        ('"sample-call"', '"Sample call"', "a name is lower-case words"),
        ("    ## Fix safety\n    No fix.\n", "", "no '## Fix safety'"),
        ("    ## Fix safety\n    No fix.\n", "    ## Fix safety\n", "nothing under '## Fix safety'"),
        ("## Why is this slow?", "## Sources", "no '## Why is this slow?'"),
        ('    fires = (Example("A call.", "«torch.zeros(3)»"),)\n', "", "no fires of type tuple"),
        ('(Example("A call.", "«torch.zeros(3)»"),)', "()", "at least one example that fires"),
        ("«torch.zeros(3)»", "torch.zeros(3)", "a firing example without «»"),
        ("«torch.zeros(3)»", "«torch.zeros(3)", "unbalanced marks"),
        ("risk = Risk.LOW", 'risk = Risk.LOW\n    since = "2.4"', "a since or until that is no TorchVersion"),
        (
            "risk = Risk.LOW",
            "risk = Risk.LOW\n    since, until = TorchVersion(2, 4), TorchVersion(2, 4)",
            "right since torch 2.4 until 2.4: for no release",
        ),
        ("x = 3", "«x = 3»", "a quiet example with «»"),
        ("    proof = Signature(At.LINE, Metric.WAIT)\n", "", "no proof of type Signature"),
        ("class Sample(Rule)", "class Sample", "holds 0 rules"),
        ("import At", "import Att", "cannot be imported: ImportError"),
    ],
)
def test_a_malformed_rule_is_refused_with_its_file_and_fault(
    pack: Pack, old: str, new: str, complaint: str
) -> None:
    assert old in RULE
    file = pack.write("broken.py", RULE.replace(old, new))
    with pytest.raises(RuleError) as caught:
        load_rules([pack.name])
    assert complaint in str(caught.value)
    assert str(file) in str(caught.value) or f"{pack.name}.broken" in str(caught.value)


def test_two_rules_cannot_share_a_code_or_a_name(pack: Pack) -> None:
    pack.write("one.py", RULE)
    pack.write("two.py", RULE.replace("sample-call", "other-call"))
    with pytest.raises(RuleError, match=r"two\.py: WL990 other-call is already taken by .*one\.py"):
        load_rules([pack.name])


def test_a_broken_family_is_refused(pack: Pack) -> None:
    pack.write("family/__init__.py", "import a_module_that_is_not_there")
    with pytest.raises(RuleError, match=r"family cannot be imported: ModuleNotFoundError"):
        load_rules([pack.name])


def test_a_pack_that_is_not_there_is_refused() -> None:
    with pytest.raises(RuleError, match="no_such_pack cannot be imported"):
        load_rules(["no_such_pack"])


def test_a_module_is_not_a_pack(pack: Pack) -> None:
    pack.write("one.py", RULE)
    with pytest.raises(RuleError, match="a rule pack is a package"):
        load_rules([f"{pack.name}.one"])
