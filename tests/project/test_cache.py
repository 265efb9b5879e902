"""Results of earlier runs: used where nothing changed, never where something did, and never needed."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warplint.project import batch, cache
from warplint.project.batch import Mode, Work, check_files
from warplint.project.config import Config
from warplint.project.files import Target
from warplint.static.finding import Severity

SAFE = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1]).to(x.device)  # é
        other = 1  # warplint: ignore[WL999]
        return x * steps
"""
CACHED = Work(cache=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "net.py").write_text(SAFE, encoding="utf-8")
    (tmp_path / "ok.py").write_text("import torch\n", encoding="utf-8")
    return tmp_path


def target(project: Path, name: str = "net.py", **settings: object) -> Target:
    return Target(project / name, Config(project, **settings))  # type: ignore[arg-type]


def entries(project: Path) -> list[Path]:
    return [file for file in (project / cache.CACHE_DIRECTORY).iterdir() if file.name not in cache.IN_IT]


def test_a_result_comes_back_as_it_was(project: Path) -> None:
    item = target(project, severity=(("WL101", Severity.ERROR),))
    assert cache.recall(item) is None
    (found,) = check_files([item], CACHED)
    recalled = cache.recall(item)
    assert recalled is not None
    assert recalled.findings == found.findings and recalled.notices == found.notices
    assert len(found.findings) == 1 and len(found.notices) == 1
    assert recalled.findings[0].severity is Severity.ERROR
    assert recalled.source.text == found.source.text


def test_an_unchanged_file_is_not_analysed_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [target(project), target(project, "ok.py")]
    before = list(check_files(items, CACHED))

    def refuse(*_: object) -> None:
        raise AssertionError("analysed again")

    monkeypatch.setattr(batch, "check_item", refuse)
    after = list(check_files(items, CACHED))
    assert [result.findings for result in after] == [result.findings for result in before]
    with pytest.raises(AssertionError, match="analysed again"):
        list(check_files(items, Work()))


def test_another_text_or_setting_or_warplint_is_another_result(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = target(project)
    list(check_files([item], CACHED))
    assert cache.recall(item) is not None
    assert cache.recall(target(project, ignore=("WL1",))) is None
    assert cache.recall(target(project, "ok.py")) is None
    item.path.write_text(SAFE.replace("steps", "stairs"), encoding="utf-8")
    assert cache.recall(item) is None
    item.path.write_text(SAFE, encoding="utf-8")
    assert cache.recall(item) is not None
    monkeypatch.setattr(cache, "_maker", lambda: b"another version")
    assert cache.recall(item) is None


def test_a_changed_file_takes_the_place_of_what_it_was(project: Path) -> None:
    for number in range(5):
        (project / "net.py").write_text(SAFE + f"# {number}\n", encoding="utf-8")
        list(check_files([target(project)], CACHED))
    assert len(entries(project)) == 1


def test_a_damaged_entry_counts_for_nothing(project: Path) -> None:
    item = target(project)
    (found,) = check_files([item], CACHED)
    (entry,) = entries(project)
    whole = entry.read_bytes()
    for damaged in (b"", whole[:20], whole[:40], whole[:-1], whole + b"x", b"\0" * len(whole)):
        entry.write_bytes(damaged)
        assert cache.recall(item) is None
    (again,) = check_files([item], CACHED)
    assert again.findings == found.findings
    assert entry.read_bytes() == whole


def test_the_folder_keeps_itself_out_of_git_and_backups(project: Path) -> None:
    list(check_files([target(project)], CACHED))
    folder = project / cache.CACHE_DIRECTORY
    assert (folder / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert (folder / "CACHEDIR.TAG").read_text(encoding="utf-8").startswith("Signature: 8a477f597d28d172")


def test_outside_a_project_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(SAFE, encoding="utf-8")
    (found,) = check_files([Target(tmp_path / "net.py", Config(tmp_path))], CACHED)
    assert len(found.findings) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["net.py"]


def test_fixes_look_at_the_file_itself(project: Path) -> None:
    item = target(project)
    list(check_files([item], CACHED))
    (fixed,) = check_files([item], Work(Mode.FIX))
    assert fixed.fixed == 1 and "device=x.device" in item.path.read_text(encoding="utf-8")


def _check_often(project: Path) -> list[int]:
    counts = []
    for number in range(20):
        if number % 5 == 4:
            for entry in entries(project):
                entry.unlink(missing_ok=True)
        results = check_files([target(project), target(project, "ok.py")], CACHED)
        counts += [len(result.findings) for result in results]
    return counts


def test_runs_side_by_side_do_not_disturb_each_other(project: Path) -> None:
    list(check_files([target(project)], CACHED))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        counts = pool.map(_check_often, [project] * 3)
    assert counts == [[1, 0] * 20] * 3
    assert not [file for file in entries(project) if file.suffix == ".part"]


CHECK_COUNTING = """
import sys
from warplint.static.analyze import Analyzer
analyze = Analyzer.analyze
def counted(self, source, previous=None):
    print("analysed", source.path.name, file=sys.stderr)
    return analyze(self, source, previous)
Analyzer.analyze = counted
from warplint.__main__ import main
raise SystemExit(main(["check", "--format", "concise", *sys.argv[1:]]))
"""


def run(project: Path, *arguments: str, prefix: tuple[str, ...] = ()) -> tuple[str, int]:
    done = subprocess.run(
        [*prefix, sys.executable, "-c", CHECK_COUNTING, *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stdout, done.stderr.count("analysed")


def test_the_command_line_uses_it_unless_told_otherwise(project: Path) -> None:
    first, analysed = run(project)
    assert analysed == 2
    assert run(project) == (first, 0)
    assert run(project, "--no-cache") == (first, 2)
    (project / "ok.py").write_text("import torch as t\n", encoding="utf-8")
    assert run(project) == (first, 1)
    (project / "pyproject.toml").write_text("[tool.warplint]\nignore = ['WL2']\n", encoding="utf-8")
    assert run(project) == (first, 2)


CAPABILITIES = "-dac_override,-dac_read_search"
PREFIX = ("setpriv", f"--bounding-set={CAPABILITIES}", f"--inh-caps={CAPABILITIES}", "--")


def test_a_folder_that_cannot_be_written_is_no_error(project: Path) -> None:
    # Root writes where it likes; without these capabilities it is held to a folder's mode like anyone else.
    prefix = PREFIX if os.geteuid() == 0 else ()
    project.chmod(0o555)
    try:
        first = run(project, prefix=prefix)
        assert run(project, prefix=prefix) == first
    finally:
        project.chmod(0o755)
    assert not (project / cache.CACHE_DIRECTORY).exists()
    run(project)
    (project / cache.CACHE_DIRECTORY).chmod(0o555)
    try:
        assert run(project, prefix=prefix) == (first[0], 0)
        (project / "ok.py").write_text("import torch as t\n", encoding="utf-8")
        assert run(project, prefix=prefix) == (first[0], 1)
    finally:
        (project / cache.CACHE_DIRECTORY).chmod(0o755)


USES = """\
import torch
from helpers import place


def train(model, loader, optimizer):
    for batch in loader:
        loss = place(model(batch)).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
KEEPS = "def place(x):\n    return x\n"
TAKES = "def place(x):\n    return x.cpu()\n"


def findings_of(project: Path, name: str = "train.py") -> list[str]:
    (result,) = check_files([target(project, name)], CACHED)
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    "change",
    ["another text", "gone", "shadowed by a package"],
)
def test_a_result_counts_for_nothing_once_an_imported_file_changes(project: Path, change: str) -> None:
    (project / "train.py").write_text(USES, encoding="utf-8")
    (project / "helpers.py").write_text(TAKES, encoding="utf-8")
    before = findings_of(project)
    assert cache.recall(target(project, "train.py")) is not None
    if change == "another text":
        (project / "helpers.py").write_text(KEEPS, encoding="utf-8")
    elif change == "gone":
        (project / "helpers.py").unlink()
    else:
        (project / "helpers").mkdir()
        (project / "helpers" / "__init__.py").write_text(KEEPS, encoding="utf-8")
    assert cache.recall(target(project, "train.py")) is None
    assert before == [] and findings_of(project) == ["WL201"]


def test_a_result_stands_while_files_that_it_does_not_rest_on_change(project: Path) -> None:
    (project / "train.py").write_text(USES, encoding="utf-8")
    (project / "helpers.py").write_text(TAKES, encoding="utf-8")
    findings_of(project)
    (project / "net.py").write_text("", encoding="utf-8")
    (project / "data").mkdir()
    (project / "data" / "notes.txt").touch()
    assert findings_of(project) == []
    (project / "helpers.py").touch()
    assert cache.recall(target(project, "train.py")) is not None
