"""A small edit of a real program does not make its score jump: no more than what is found changes."""

from __future__ import annotations

import inspect
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import torch.nn.modules.transformer
import torch.optim.swa_utils

from warplint.advice.measured.join import Captured, findings, join
from warplint.advice.score.file_score import Score, score
from warplint.profile.join import join as join_capture
from warplint.project.engine import Checked, Engine
from warplint.source.text import SourceText
from warplint.static.finding import Finding

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "profile" / "data" / "h200-unet3d.tar.xz"

MOST_BY_PRACTICE = 10
"""What the good practice on one line can come to: a loader's workers, kept, and pinned batches are 7."""

EDITS: dict[str, Callable[[str], str]] = {
    "taken out": lambda line: "",
    "said twice": lambda line: line + line,
    "with an empty line above": lambda line: "\n" + line,
    "with a comment": lambda line: line.rstrip("\n") + "  # so far\n",
    "half typed": lambda line: line[: len(line) // 2] + "\n",
}


@dataclass
class Program:
    """A text that can be scored again and again, with a capture or without."""

    engine: Engine
    path: Path
    text: str
    captured: Captured | None = None

    def look(self, text: str, before: Checked | None = None) -> tuple[Checked, list[Finding]]:
        source = SourceText(text, self.path)
        checked = self.engine.check(source, before)
        if self.captured is None:
            return checked, list(checked.findings)
        costs = self.engine.costs(source, self.captured.profile)
        return checked, list(findings(join(self.engine, checked, self.captured, costs)))

    def edited(self, every: int) -> Iterator[tuple[str, str]]:
        """Versions with one line edited, each with what was done."""
        lines = self.text.splitlines(keepends=True)
        for index in range(0, len(lines), every):
            for name, edit in EDITS.items():
                changed = [*lines[:index], edit(lines[index]), *lines[index + 1 :]]
                yield f"line {index + 1} {name}", "".join(changed)


def told(found: list[Finding]) -> Counter[tuple[object, ...]]:
    """What the findings are and what was measured of them, wherever they stand."""
    return Counter(
        (
            each.code,
            each.confidence,
            each.hotness,
            each.measured and (each.measured.outcome, round(each.measured.share, 4)),
        )
        for each in found
    )


def value_of(found: Score) -> int:
    """The score before it is kept from falling below 0, which would hide what an edit does."""
    return sum(part.points for part in found.parts if not part.label.startswith("no score is below"))


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "pyproject.toml").touch()
    return Engine.for_path(tmp_path)


def require_small_steps(program: Program, every: int) -> None:
    checked, found = program.look(program.text)
    before = score(checked, found)
    assert before is not None
    compared = 0
    for what, text in program.edited(every):
        after_checked, after_found = program.look(text, checked)
        after = score(after_checked, after_found)
        assert after is not None, what
        if told(after_found) == told(found):
            compared += 1
            assert abs(value_of(after) - value_of(before)) <= MOST_BY_PRACTICE, what
    assert compared > len(EDITS) * len(program.text.splitlines()) / every / 2


@pytest.mark.parametrize("with_capture", [False, True], ids=["by its text", "with its capture"])
def test_a_program_that_was_captured(with_capture: bool, engine: Engine, tmp_path: Path) -> None:
    with tarfile.open(RECORDED) as archive:
        archive.extractall(tmp_path, filter="data")
    profile = join_capture(tmp_path / "h200-unet3d")
    captured = Captured(profile) if with_capture else None
    program = Program(engine, tmp_path / "train.py", profile.sources["train.py"].text, captured)
    require_small_steps(program, every=4)


@pytest.mark.parametrize(
    ("module", "every"),
    [(torch.optim.swa_utils, 12), (torch.nn.modules.transformer, 90)],
    ids=["averaged weights", "transformer"],
)
def test_modules_of_pytorch(module: ModuleType, every: int, engine: Engine, tmp_path: Path) -> None:
    text = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    require_small_steps(Program(engine, tmp_path / "module.py", text), every)
