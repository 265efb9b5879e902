"""No share of a step is more than the step, in captures of an H200: some of hosts that run ahead of it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from diagnosing import diagnose
from measuring import measured

from warplint.profile.join import join
from warplint.profile.model import Profile
from warplint.report.names_terminal import LAYERS

DATA = Path(__file__).parent / "data"
CAPTURES = sorted(path.name.removesuffix(".tar.xz") for path in DATA.glob("*.tar.xz"))
ROUNDING = 1e-6
AHEAD = {"h200-planted-precision-fp32": 69.4, "h200-planted-precision-convolution": 32.1}
"""Of ten steps, the milliseconds from the end of what the GPU was given before them to the end of theirs, as
the traces have them. The host launched them in 13.6 and 16.5."""


@pytest.fixture(params=CAPTURES)
def profile(request: pytest.FixtureRequest, tmp_path: Path) -> Profile:
    return captured(request.param, tmp_path)


def captured(name: str, folder: Path) -> Profile:
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return join(folder / name)


def test_no_finding_costs_more_than_a_step(profile: Profile, tmp_path: Path) -> None:
    totals = profile.totals
    for file, source in profile.sources.items():
        if Path(file).is_absolute():
            continue
        found = measured(tmp_path, source.text, profile, file)
        said = [each.measured for each in found if each.measured is not None]
        assert all(0 <= each.share <= 1 + ROUNDING for each in said)
        assert all(each.cost_us <= totals.program_us / totals.steps + ROUNDING for each in said)
        assert all(sum(lost.share for lost in each.lost or ()) <= 1 + ROUNDING for each in said)


def test_lines_phases_and_layers_are_parts_of_the_step(profile: Profile) -> None:
    totals = profile.totals
    assert totals.gpu_busy_us + totals.gpu_idle_us == pytest.approx(totals.wall_us)
    reached = sum(cost.share for cost in profile.lines)
    assert reached + totals.unattributed_us / totals.program_us == pytest.approx(1)
    diagnosis = diagnose(profile)
    assert all(0 <= verdict.share <= 1 for _, verdict in (("run", diagnosis.run), *diagnosis.phases))
    shares = [LAYERS.columns[0].cell(layer, profile) for layer in profile.layers]
    assert sum(float(each.rstrip("%")) for each in shares if each) <= 100 + len(shares) / 2


@pytest.mark.parametrize("name", AHEAD)
def test_steps_that_the_host_launches_ahead_take_what_the_gpu_needs(name: str, tmp_path: Path) -> None:
    profile = captured(name, tmp_path)
    assert profile.totals.wall_us / 1e3 == pytest.approx(AHEAD[name], abs=0.05)
    assert any("ahead of the GPU" in note for note in profile.notes)
