"""The engine: analysis judged by configuration and comments, fixes, and measured costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST, STORE, LayoutError, RunManifest
from warplint.profile.database import write_database
from warplint.profile.model import CapturedSource, LineCost, Profile, Totals
from warplint.project.catalogue import Catalogue, catalogue
from warplint.project.config import Config, ConfigError
from warplint.project.engine import Checked, Engine, all_rules
from warplint.source.text import SourceText
from warplint.static.fixing import apply_edits
from warplint.static.torch_version import TorchVersion

MOVED = "        steps = torch.arange(x.shape[1]).to(x.device)\n"
DRAWN = "        noise = torch.randn(x.shape).to(x.device)\n"
FORWARD = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
RESULT = "        return x * steps\n"


def source(text: str, path: Path = Path("net.py")) -> SourceText:
    return SourceText(text, path)


def engine(root: Path, **settings: object) -> Engine:
    return Engine(root, Config(root, root / "pyproject.toml", **settings))  # type: ignore[arg-type]


def places(checked: Checked) -> list[tuple[int, str]]:
    return [(checked.source.position(found.span.start).line, found.code) for found in checked.findings]


def test_findings_are_judged_by_configuration(tmp_path: Path) -> None:
    text = source(FORWARD + MOVED + RESULT, tmp_path / "net.py")
    assert places(engine(tmp_path).check(text)) == [(7, "WL101")]
    assert places(engine(tmp_path, ignore=("WL1",)).check(text)) == []
    assert places(engine(tmp_path, select=("WL2",)).check(text)) == []
    assert places(engine(tmp_path, per_file_ignores=(("net.py", ("WL101",)),)).check(text)) == []


def test_a_report_runs_the_rules_that_are_on_and_says_what_a_check_says(tmp_path: Path) -> None:
    text = source(FORWARD + MOVED + RESULT, tmp_path / "net.py")
    config = Config(tmp_path, ignore=("WL1",), per_file_ignores=(("net.py", ("WL2",)),))
    checker = Engine(tmp_path, config, timed=True)
    assert places(checker.report(text)) == places(checker.check(text)) == []
    assert "WL101" in checker.rule_seconds
    checker.rule_seconds.clear()
    checker.report(text)
    assert "WL101" not in checker.rule_seconds


def test_a_comment_that_silences_a_rule_that_is_off_is_of_use_in_a_report(tmp_path: Path) -> None:
    silenced = MOVED.rstrip("\n") + "  # warplint: ignore[WL101]\n"
    checker = Engine(tmp_path, Config(tmp_path, ignore=("WL101",)), unused=True)
    assert places(checker.report(source(FORWARD + silenced + RESULT, tmp_path / "net.py"))) == []


MASKED = "        x[torch.ones(4, dtype=torch.bool)] = 0.0\n        return x\n"


def test_findings_are_those_of_the_torch_that_the_program_runs_with(tmp_path: Path) -> None:
    text = source(FORWARD + MASKED, tmp_path / "net.py")
    assert places(engine(tmp_path, torch_version=TorchVersion(2, 8)).check(text)) == [(7, "WL102")]
    assert places(engine(tmp_path, torch_version=TorchVersion(2, 9)).check(text)) == []
    assert places(engine(tmp_path).check(text)) == []


def test_a_rule_speaks_from_its_first_release_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = all_rules()
    (rule,) = {type(rule) for rule in rules if rule.code == "WL101"}
    monkeypatch.setattr(rule, "since", TorchVersion(2, 1))
    monkeypatch.setattr(rule, "until", TorchVersion(2, 4))
    # What is known of rules from an earlier run is not what was just set.
    monkeypatch.setattr("warplint.project.engine.catalogue", lambda: Catalogue(rules))
    silenced = MOVED.replace("\n", "  # warplint: ignore[WL101]\n")
    for minor, found in ((0, []), (1, [(7, "WL101")]), (3, [(7, "WL101")]), (4, [])):
        checker = Engine(tmp_path, Config(tmp_path, torch_version=TorchVersion(2, minor)), unused=True)
        assert places(checker.check(source(FORWARD + MOVED + RESULT))) == found
        # A comment that another release needs is of use.
        assert places(checker.check(source(FORWARD + silenced + RESULT))) == []


def test_findings_are_judged_by_comments(tmp_path: Path) -> None:
    silenced = MOVED.replace("\n", "  # warplint: ignore[WL101]\n")
    checked = engine(tmp_path).check(source(FORWARD + silenced + MOVED + RESULT))
    assert places(checked) == [(8, "WL101")]
    assert len(checked.analysis.findings) == 2


@pytest.mark.parametrize("line", [6, 8])
def test_a_comment_silences_a_finding_where_it_begins_and_where_it_ends(line: int, tmp_path: Path) -> None:
    lines = [
        "import torch",
        "",
        "",
        "def evaluate(model, loader):",
        "    model.eval()",
        "    for x, y in loader:",
        "        x = x.cuda()",
        "        pred = model(x).argmax(1)",
    ]
    assert places(engine(tmp_path).check(source("\n".join(lines)))) == [(6, "WL601")]
    lines[line - 1] += "  # warplint: ignore[WL601]"
    assert places(engine(tmp_path).check(source("\n".join(lines)))) == []


def test_a_text_that_does_not_parse_is_one_finding_and_the_rest_is_checked(tmp_path: Path) -> None:
    broken = "print 'a'\n" + FORWARD + MOVED + RESULT + "print 'b'\nprint 'c'\n"
    checked = engine(tmp_path, select=("WL1",)).check(source(broken))
    assert places(checked) == [(1, "WL001"), (8, "WL101")]
    assert checked.findings[0].message.endswith("(2 more such in this file)")
    assert places(engine(tmp_path, ignore=("WL001",)).check(source(broken))) == [(8, "WL101")]


def test_a_previous_result_changes_no_finding(tmp_path: Path) -> None:
    checker = engine(tmp_path)
    before = checker.check(source(FORWARD + MOVED + RESULT))
    after = source("# new\n" + FORWARD + MOVED + DRAWN + RESULT)
    assert checker.check(after, before).findings == checker.check(after).findings
    assert places(checker.check(after, before)) == [(8, "WL101"), (9, "WL101")]


def test_the_edits_of_a_finding_fix_it(tmp_path: Path) -> None:
    checker = engine(tmp_path)
    checked = checker.check(source(FORWARD + MOVED + RESULT))
    fixed = apply_edits(checked.source.text, checker.edits(checked, checked.findings[0]))
    assert fixed == FORWARD + MOVED.replace("1]).to(x.device)", "1], device=x.device)") + RESULT
    assert checker.check(source(fixed)).findings == ()


def test_what_has_no_fix_has_no_edits(tmp_path: Path) -> None:
    checker = engine(tmp_path)
    checked = checker.check(source("print 'a'\n"))
    assert checker.edits(checked, checked.findings[0]) == ()


def test_fixing_spares_what_comments_silence_while_lines_move(tmp_path: Path) -> None:
    """The first fix joins lines, so the silenced statement stands elsewhere in the second round."""
    spread = "        steps = torch.arange(x.shape[1]).to(\n            x.device\n        )\n"
    silenced = MOVED.replace("\n", "  # warplint: ignore[WL101]\n")
    fixed = MOVED.replace("1]).to(x.device)", "1], device=x.device)")
    result = engine(tmp_path).fix(source(FORWARD + spread + silenced + DRAWN + RESULT), unsafe=False)
    assert result.text == FORWARD + fixed + silenced + DRAWN + RESULT
    assert len(result.applied) == 1
    assert [finding.code for finding in result.left] == ["WL101"]


def test_an_unknown_rule_in_the_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"pyproject.toml: \[tool.warplint\] select: there is no rule 'WL999'"
    ):
        engine(tmp_path, select=("WL999",))


def test_an_engine_finds_its_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.warplint]\nignore = ['WL101']\n", encoding="utf-8")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "net.py").write_text(FORWARD + MOVED + RESULT, encoding="utf-8")
    found = Engine.for_path(tmp_path / "pkg" / "net.py")
    assert (found.root, found.config.ignore) == (tmp_path, ("WL101",))


def test_the_engines_own_codes_are_known() -> None:
    assert {"WL001", "WL002", "WL101"} <= catalogue().codes


# Measured costs


def write_capture(root: Path, name: str, text: SourceText, busy_us: float) -> Path:
    """A joined capture in which line 7 of net.py kept the GPU busy for this long."""
    folder = root / CAPTURES_DIRECTORY / name
    folder.mkdir(parents=True)
    profile = Profile(
        name=name,
        command=["python", "net.py"],
        totals=Totals(device="NVIDIA H200"),
        lines=[LineCost("net.py", 7, busy_us=busy_us)],
        sources={"net.py": CapturedSource("net.py", text.digest, text.text)},
    )
    RunManifest(profile.command, str(root), str(root), 1.0, "test", finished=2.0).write(folder)
    write_database(folder / STORE, profile, {MANIFEST: (folder / MANIFEST).stat().st_size})
    return folder


def test_costs_are_those_of_the_newest_capture_and_follow_edits(tmp_path: Path) -> None:
    text = source(FORWARD + MOVED + RESULT, tmp_path / "net.py")
    checker = engine(tmp_path)
    assert checker.newest_profile() is None
    assert checker.costs(text) == {}

    write_capture(tmp_path, "20260101T000000Z-net", text, 5.0)
    assert {line: placed.cost.busy_us for line, placed in checker.costs(text).items()} == {7: 5.0}
    edited = source("# new\n" + text.text, text.path)
    assert {line: placed.stale for line, placed in checker.costs(edited).items()} == {8: False}

    write_capture(tmp_path, "20260102T000000Z-net", text, 9.0)
    assert checker.costs(text)[7].cost.busy_us == 9.0
    assert checker.costs(source(text.text, tmp_path / "other.py")) == {}


def test_a_capture_is_opened_once(tmp_path: Path) -> None:
    text = source(FORWARD + MOVED + RESULT, tmp_path / "net.py")
    write_capture(tmp_path, "20260101T000000Z-net", text, 5.0)
    checker = engine(tmp_path)
    assert checker.newest_profile() is checker.newest_profile()


def test_a_capture_that_cannot_be_read_is_an_error_once_asked_for_and_costs_nothing(tmp_path: Path) -> None:
    text = source(FORWARD + MOVED + RESULT, tmp_path / "net.py")
    folder = write_capture(tmp_path, "20260101T000000Z-net", text, 5.0)
    (folder / MANIFEST).write_text("{}", encoding="utf-8")
    checker = engine(tmp_path)
    for _ in range(2):
        with pytest.raises(LayoutError, match="not written by Warplint"):
            checker.newest_profile()
    assert checker.costs(text) == {}

    (folder / MANIFEST).unlink()
    assert checker.newest_profile() is None
