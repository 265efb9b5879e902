"""A capture says nothing of a finding whose own text, or what tells of it, was edited since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from measuring import measured, opened, outcomes, profile_of

from warplint.advice.measured.join import EDITED, EDITED_AROUND
from warplint.advice.score.file_score import score
from warplint.profile import follow
from warplint.profile.model import CapturedSource, KernelCost, LineCost, Profile
from warplint.project.engine import Engine
from warplint.source.text import SourceText
from warplint.static.finding import Finding, Outcome

LOADER = "DataLoader(dataset, batch_size=args.batch, shuffle=True)"
OPTIMIZER = "torch.optim.AdamW(model.parameters(), lr=1e-3)"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return opened("h200-unet3d", tmp_path_factory.mktemp("h200"))


def edited(profile: Profile, old: str, new: str) -> str:
    text = profile.sources["train.py"].text
    assert text.count(old) == 1
    return text.replace(old, new)


def word(found: list[Finding], code: str) -> tuple[Outcome, str]:
    (finding,) = [each for each in found if each.code == code]
    assert finding.measured is not None
    return finding.measured.outcome, finding.measured.sentence


@pytest.mark.parametrize(
    ("code", "old", "new", "why"),
    [
        ("WL301", LOADER, LOADER.replace("True)", "True, num_workers=4)"), EDITED),
        ("WL301", LOADER, "DataLoader(Volumes(folder, 64), batch_size=4)", EDITED),
        ("WL301", LOADER, "DataLoader(\n        dataset, batch_size=args.batch\n    )", EDITED),
        ("WL502", OPTIMIZER, OPTIMIZER.replace("1e-3", "3e-3"), EDITED),
        ("WL502", OPTIMIZER, OPTIMIZER.replace("AdamW", "Adam"), EDITED),
        ("WL502", "optimizer.step()", "optimizer.step(lambda: loss)", EDITED_AROUND),
    ],
    ids=["workers", "another data set", "over lines", "rate", "another optimizer", "the line that updates"],
)
def test_an_edited_statement_loses_what_was_measured_elsewhere(
    code: str, old: str, new: str, why: str, recorded: Profile, tmp_path: Path
) -> None:
    found = measured(tmp_path, edited(recorded, old, new), recorded)
    assert word(found, code) == (Outcome.UNJUDGED, why)
    other = "WL502" if code == "WL301" else "WL301"
    assert word(found, other)[0] is Outcome.CONFIRMED


def test_a_moved_statement_keeps_what_was_measured(recorded: Profile, tmp_path: Path) -> None:
    above = edited(recorded, "    loader = " + LOADER, "    print(folder)\n\n    loader = " + LOADER)
    found = measured(tmp_path, above, recorded)
    assert [word(found, code)[0] for code in ("WL301", "WL502")] == [Outcome.CONFIRMED] * 2


@pytest.mark.parametrize("workers", ["num_workers=4", "num_workers=4, pin_memory=True"])
def test_the_wait_for_data_goes_with_the_loader_that_made_it(
    workers: str, recorded: Profile, tmp_path: Path
) -> None:
    """Whether the rule still finds something in the new loader or not."""
    source = edited(recorded, LOADER, LOADER.replace("True)", f"True, {workers}, persistent_workers=True)"))
    assert "WL055" in outcomes(measured(tmp_path, recorded.sources["train.py"].text, recorded))
    assert "WL055" not in outcomes(measured(tmp_path, source, recorded))


def with_another_name(profile: Profile) -> Profile:
    """The same run of a program that names the loader otherwise, and speaks of it in a comment."""
    text = edited(profile, "import DataLoader", "import DataLoader as Batches")
    text = (
        text.replace(LOADER, LOADER.replace("DataLoader", "Batches")) + "# Made of a DataLoader(dataset).\n"
    )
    source = CapturedSource("train.py", SourceText(text, Path("train.py")).digest, text)
    return replace(profile, sources={**profile.sources, "train.py": source})


def test_a_loader_is_known_by_the_name_that_the_file_gives_it(recorded: Profile, tmp_path: Path) -> None:
    profile = with_another_name(recorded)
    text = profile.sources["train.py"].text
    comment = edited(profile, "Made of a DataLoader(dataset).", "Made of it.")
    loader = edited(profile, "Batches(dataset, ", "Batches(dataset, num_workers=4, ")
    has = ["WL055" in outcomes(measured(tmp_path, each, profile)) for each in (text, comment, loader)]
    assert has == [True, True, False]


def test_two_versions_are_compared_once(
    recorded: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor asks at every keystroke."""
    compared: list[int] = []
    moved = follow.moved_lines
    monkeypatch.setattr(follow, "moved_lines", lambda *texts: compared.append(1) or moved(*texts))
    measured(tmp_path, edited(recorded, OPTIMIZER, OPTIMIZER.replace("1e-3", "4e-3")), recorded)
    assert len(compared) == 1


def test_an_edited_loader_counts_by_the_table(recorded: Profile, tmp_path: Path) -> None:
    source = edited(recorded, LOADER, LOADER.replace("True)", "True, num_workers=4)"))
    found = measured(tmp_path, source, recorded)
    checked = Engine.for_path(tmp_path).check(SourceText(source, tmp_path / "train.py"))
    scored = score(checked, found)
    assert scored is not None
    # A likely finding of a medium risk: docs/score.md.
    assert [part.points for part in scored.parts if part.label.startswith("WL301")] == [-10]


FOREIGN = """\
import torch
from torch.utils.data import DataLoader


def train(dataset, args, make):
    loader = DataLoader(dataset, batch_size=args.batch, shuffle=True)
    model = make(args).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        for volume, mask in loader:
            loss = (model(volume.cuda(non_blocking=True)) - 1).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
"""


def test_another_program_of_the_same_name_has_lines_in_common_and_no_costs(
    recorded: Profile, tmp_path: Path
) -> None:
    captured = {line.strip() for line in recorded.sources["train.py"].text.splitlines()}
    assert {line.strip() for line in FOREIGN.splitlines()} & captured >= {
        f"loader = {LOADER}",
        f"optimizer = {OPTIMIZER}",
        "optimizer.step()",
    }
    found = measured(tmp_path, FOREIGN, recorded)
    judged = [word(found, code) for code in ("WL301", "WL502")]
    assert judged == [(Outcome.UNJUDGED, EDITED_AROUND)] * 2


USED = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(x.shape[1])
        y = x * 2
        return y + steps.to(x.device)
"""


def test_a_value_that_is_made_otherwise_is_not_confirmed_where_it_is_used(tmp_path: Path) -> None:
    copies = [KernelCost("Memcpy HtoD (Pageable -> Device)", 100, 10)]
    copied = LineCost("train.py", 9, cpu_us=1_000, copies=10, waits=10, exposed_copy_us=100, kernels=copies)
    profile = profile_of(USED, [LineCost("train.py", 7, cpu_us=1_000), copied])
    assert word(measured(tmp_path, USED, profile), "WL101")[0] is Outcome.CONFIRMED
    otherwise = USED.replace("x.shape[1]", "x.shape[2]")
    assert word(measured(tmp_path, otherwise, profile), "WL101") == (Outcome.UNJUDGED, EDITED)
