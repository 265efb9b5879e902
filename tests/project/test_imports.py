"""Results that rest on other files: which those are, and when they no longer hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.project.batch import Work, check_files
from warplint.project.config import Config
from warplint.project.engine import Engine
from warplint.project.files import Target
from warplint.project.imports import ProjectFiles
from warplint.source.text import SourceText

TRAIN = """\
import torch
from helpers import place


def train(model, loader, optimizer):
    for batch in loader:
        loss = place(model(batch)).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
ALONE = TRAIN.replace("from helpers import place\n", "place = print\n")
KEEPS = "def place(x):\n    return x\n"
TAKES = "def place(x):\n    return x.cpu()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "helpers.py").write_text(TAKES)
    return tmp_path


def codes(engine: Engine, text: str = TRAIN) -> list[str]:
    return [f.code for f in engine.check(SourceText(text, engine.root / "train.py")).findings]


def test_a_result_names_what_it_rests_on(project: Path) -> None:
    engine = Engine(project, Config(project))
    checked = engine.check(SourceText(TRAIN, project / "train.py"))
    assert checked.analysis.reads == {project, project / "helpers.py"}
    assert engine.digests(checked).keys() == checked.analysis.reads


def test_a_file_that_imports_nothing_of_the_project_reads_nothing(project: Path) -> None:
    engine = Engine(project, Config(project))
    assert not engine.check(SourceText(ALONE, project / "train.py")).analysis.reads


def test_an_edited_file_counts_before_the_one_on_the_disk(project: Path) -> None:
    engine = Engine(project, Config(project))
    helpers = project / "helpers.py"
    assert not engine.edit(helpers, TAKES), "nobody has asked for it yet"
    assert codes(engine) == []
    assert not engine.edit(helpers, TAKES)
    assert engine.edit(helpers, KEEPS)
    assert codes(engine) == ["WL201"]
    assert engine.edit(helpers, "") and engine.edit(helpers, KEEPS)
    assert engine.edit(helpers, None)
    assert codes(engine) == []


def test_a_refresh_tells_what_changed_on_the_disk(project: Path) -> None:
    engine = Engine(project, Config(project))
    assert codes(engine) == []
    assert not engine.refresh()
    (project / "helpers.py").write_text(KEEPS)
    assert project / "helpers.py" in engine.refresh()
    assert codes(engine) == ["WL201"]
    (project / "helpers.py").unlink()
    assert engine.refresh() >= {project, project / "helpers.py"}


def test_what_is_reused_of_an_earlier_version_follows_other_files(project: Path) -> None:
    engine = Engine(project, Config(project))
    first = engine.check(SourceText(TRAIN, project / "train.py"))
    assert not first.findings
    engine.edit(project / "helpers.py", KEEPS)
    again = engine.check(SourceText("# title\n" + TRAIN, project / "train.py"), first)
    assert [finding.code for finding in again.findings] == ["WL201"]
    assert again.analysis.reads == first.analysis.reads


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("order", [1, -1])
def test_findings_do_not_depend_on_what_else_is_checked(project: Path, jobs: int, order: int) -> None:
    chain = "from m{} import Base\nimport torch\nclass Net(Base):\n    def run(self, x):\n        {}\n"
    (project / "m0.py").write_text("from torch import nn\nclass Base(nn.Module):\n    pass\n")
    for number in range(1, 40):
        body = f"from m{number - 1} import Base as Below\nimport torch\nclass Base(Below):\n"
        body += (
            "    def forward(self, x):\n        print(x.sum().item())\n        return torch.zeros(3) + x\n"
        )
        (project / f"m{number}.py").write_text(body)
    (project / "last.py").write_text(chain.format(39, "return torch.zeros(3).to(x.device)"))
    targets = [Target(path, Config(project)) for path in sorted(project.glob("*.py"))][::order]
    together = {result.path: result.findings for result in check_files(targets, Work(), jobs)}
    assert sum(map(len, together.values())) >= 39
    for target in targets[:5]:
        (alone,) = check_files([target], Work())
        assert alone.findings == together[target.path]


def test_a_second_run_sees_what_changed_since_the_first(project: Path) -> None:
    target = Target(project / "train.py", Config(project))
    (before,) = check_files([target], Work())
    (project / "helpers.py").write_text(KEEPS)
    (after,) = check_files([target], Work())
    assert [len(before.findings), len(after.findings)] == [0, 1]


def test_folders_of_data_are_not_listed_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from warplint.project import imports

    monkeypatch.setattr(imports, "MOST_ENTRIES", 3)
    (tmp_path / "pyproject.toml").touch()
    for number in range(5):
        (tmp_path / f"m{number}.py").touch()
    assert ProjectFiles().find(tmp_path / "main.py", "m1").path is None


DATA = """\
from PIL import Image
from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class Images(Rows):
    def __getitem__(self, index):
        return Image.open(self.rows[index])
"""
FEED = """\
import torch
from data import Images, Rows
from torch.utils.data import DataLoader


def train(model, optimizer, rows):
    loader = DataLoader({dataset}(rows), batch_size=32, shuffle=True)
    for batch in loader:
        model(batch.cuda()).mean().backward()
        optimizer.step()
"""


def test_a_loader_is_judged_by_the_data_set_of_another_file(project: Path) -> None:
    (project / "data.py").write_text(DATA)
    engine = Engine(project, Config(project))
    assert "WL301" in codes(engine, FEED.format(dataset="Images"))
    assert "WL301" not in codes(engine, FEED.format(dataset="Rows"))
