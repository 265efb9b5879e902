"""Scores of findings that a capture was asked of, worked out by hand from docs/score.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import H200, measured, profile_of
from scoring import DOCUMENTED_PROGRAM, documented_parts, points

from warplint.advice.score.file_score import Score, score
from warplint.advice.score.weights import Band
from warplint.profile.model import IdleCause, KernelCost, LineCost, Profile
from warplint.project.engine import Engine
from warplint.source.text import SourceText

START = (75, "where every file with GPU code starts", None)
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"

LOOP = """\
import torch
from torch.nn.functional import cross_entropy


def train(model, loader, optimizer):
    for images, labels in loader:
        images, labels = images.cuda(), labels.cuda()
        loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        print(loss.item())
        print(loss.item(), loss.item())
        images = images + torch.rand(64)
"""
MOVE_LINE, READ_LINE, OTHER_READS_LINE, OPERAND_LINE = 7, 11, 12, 13


def line_cost(line: int, **figures: object) -> LineCost:
    """A line on which the host was for a millisecond."""
    return LineCost("train.py", line, cpu_us=1_000, **figures)  # type: ignore[arg-type]


def waits(line: int, percent: float) -> LineCost:
    """A line that waits once in each of ten steps of 10 ms, and loses so much of them."""
    return line_cost(line, waits=10, idle_us={IdleCause.SYNC: percent * 1_000})


def copies(line: int, percent: float) -> LineCost:
    kernels = [KernelCost(PAGEABLE, percent * 1_000, 10)]
    return line_cost(line, waits=10, copies=10, exposed_copy_us=percent * 1_000, kernels=kernels)


def score_of(root: Path, source: str, costs: list[LineCost], device: str = H200) -> Score:
    return score_with(root, source, profile_of(source, costs, device=device))


def score_with(root: Path, source: str, profile: Profile) -> Score:
    told = measured(root, source, profile)
    checked = Engine.for_path(root).check(SourceText(source, root / "train.py"))
    found = score(checked, told)
    assert found is not None
    assert found.value == sum(part.points for part in found.parts)
    return found


def test_what_was_measured_takes_the_place_of_the_table(tmp_path: Path) -> None:
    source = LOOP.replace("        images = images + torch.rand(64)\n", "")
    found = score_of(tmp_path, source, [waits(READ_LINE, 12.5)])
    # Of three findings of the rule one was measured; of the others the second costs half: 15 + 7.5.
    assert points(found) == [
        START,
        (-25, "WL201 host-read-in-hot-loop, certain, loses 12.5% of a step", READ_LINE),
        (-23, "WL201 host-read-in-hot-loop, certain, 2 places", OTHER_READS_LINE),
    ]


def test_a_certain_high_risk_finding_holds_red_until_a_capture_refutes_it(tmp_path: Path) -> None:
    reads = [waits(READ_LINE, 0.1), waits(OTHER_READS_LINE, 0.1)]
    held = "held at 30: certain high-risk finding WL101"
    before = score_of(tmp_path, LOOP, reads)
    assert points(before)[-1] == (-15, held, OPERAND_LINE)
    cheap = score_of(tmp_path, LOOP, [*reads, copies(OPERAND_LINE, 0.2)])
    assert points(cheap) == [
        START,
        # Each of the two on a line that loses a tenth of a percent: the time of a line counts once.
        (0, "WL201 host-read-in-hot-loop, certain, 3 places, loses 0.2% of a step", READ_LINE),
        (0, "WL101 host-tensor-in-hot-code, certain, loses 0.2% of a step", OPERAND_LINE),
        (-45, held, OPERAND_LINE),
    ]
    refuted = score_of(tmp_path, LOOP, [*reads, line_cost(OPERAND_LINE)])
    assert points(refuted) == [
        START,
        (0, "WL201 host-read-in-hot-loop, certain, 3 places, loses 0.2% of a step", READ_LINE),
        (-5, "held at 70: certain medium-risk finding WL201", READ_LINE),
        (0, "WL101 host-tensor-in-hot-code, which costs nothing here as measured", OPERAND_LINE),
    ]
    assert (cheap.band, refuted.band) == (Band.RED, Band.YELLOW)


def test_a_capture_of_a_cpu_changes_nothing(tmp_path: Path) -> None:
    costs = [line_cost(READ_LINE), line_cost(OTHER_READS_LINE), line_cost(OPERAND_LINE)]
    checked = Engine.for_path(tmp_path).check(SourceText(LOOP, tmp_path / "train.py"))
    assert score_of(tmp_path, LOOP, costs, device="cpu") == score(checked)


def test_waste_that_measuring_alone_found_lowers_the_score(tmp_path: Path) -> None:
    source = LOOP.partition("        print")[0]
    found = score_of(tmp_path, source, [copies(MOVE_LINE, 22.5)])
    assert points(found) == [START, (-45, "WL052 measured-pageable-copy, loses 22.5% of a step", MOVE_LINE)]
    assert (found.value, found.band) == (30, Band.RED)
    assert found.summary == "WL052 measured-pageable-copy costs most."


def test_time_that_two_findings_speak_of_counts_for_the_dearer(tmp_path: Path) -> None:
    source = LOOP.partition("        print")[0].replace(
        "import torch\n", "import torch\nimport torch.utils.data\n"
    )
    source += "\n\ntorch.utils.data.DataLoader(data, shuffle=True)\n"
    loading = [line_cost(line, idle_us={IdleCause.DATA: 10_000}) for line in (8, 9)]
    found = score_of(tmp_path, source, [*loading, line_cost(14)])
    assert points(found) == [
        START,
        (0, "WL055 measured-data-wait, 2 places, loses 20.0% of a step (counted elsewhere)", 8),
        (-40, "WL301 slow-data-loader, likely, loses 20.0% of a step", 14),
    ]


def test_half_of_the_time_of_wide_products_is_lost(tmp_path: Path) -> None:
    source = LOOP.partition("        print")[0]
    kernel = KernelCost("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_cublas", 40_000, 10)
    found = score_of(
        tmp_path, source, [line_cost(8, busy_us=40_000, gpu_forward_us=40_000, launches=10, kernels=[kernel])]
    )
    assert points(found)[1:] == [(-40, "WL057 measured-float32-products, loses 20.0% of a step", 8)]


def test_the_documented_run_gives_the_documented_score(tmp_path: Path) -> None:
    profile = profile_of(
        DOCUMENTED_PROGRAM,
        [copies(12, 6.0), waits(17, 12.5), line_cost(15, idle_us={IdleCause.HOST: 8_000})],
    )
    # Five steps of 20 ms.
    profile.totals.steps = 5
    found = score_with(tmp_path, DOCUMENTED_PROGRAM, profile)
    assert points(found) == documented_parts("### The same after a run")
    assert (found.value, found.band) == (30, Band.RED)
    profile.lines[0] = line_cost(12)
    assert score_with(tmp_path, DOCUMENTED_PROGRAM, profile).value == 43


@pytest.mark.parametrize("percent", [0.3, 1.0, 4.4, 17.3, 60.0])
def test_each_percent_lost_takes_two_points(percent: float, tmp_path: Path) -> None:
    source = LOOP.partition("        print(loss.item(), ")[0]
    found = score_of(tmp_path, source, [waits(READ_LINE, percent)])
    assert found.value == max(0, min(70, 75 - int(2 * percent + 0.5)))
