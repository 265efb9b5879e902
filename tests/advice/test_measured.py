"""Findings and a capture of the same text: confirmed, refuted, left alone, and found by measuring."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import measured, opened, outcomes, profile_of

from warplint.advice.measured.join import NOT_REACHED
from warplint.profile.model import CapturedSource, IdleCause, KernelCost, LineCost, Profile
from warplint.source.text import SourceText
from warplint.static.finding import Finding, Outcome, Severity, lost_together

LOOP = """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
COPY_LINE, READ_LINE = 6, 9
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"


def line_cost(line: int, file: str = "train.py", **figures: object) -> LineCost:
    """A line on which the host was for a millisecond."""
    return LineCost(file, line, cpu_us=1_000, **figures)  # type: ignore[arg-type]


def the(found: list[Finding], code: str) -> Finding:
    (finding,) = [each for each in found if each.code == code]
    return finding


def test_a_wait_that_was_measured_confirms_the_finding_with_its_cost(tmp_path: Path) -> None:
    # 80 waits and 31 ms of idle time in ten steps of 10 ms.
    cost = line_cost(READ_LINE, waits=80, idle_us={IdleCause.SYNC: 31_000}, felt_sync_us=50_000)
    finding = the(measured(tmp_path, LOOP, profile_of(LOOP, [cost])), "WL201")
    assert finding.measured is not None
    assert (finding.measured.outcome, finding.measured.cost_us) == (Outcome.CONFIRMED, 3_100)
    assert finding.measured.share == pytest.approx(0.31)
    assert finding.severity is Severity.ERROR
    said = (
        "Costs at least 3.1 ms of a 10.0 ms step: 8 waits, the host is held up for 5.0 ms "
        "(what starts late after it is not counted). `loss.item()` makes"
    )
    assert finding.message.startswith(said)


def test_a_wait_with_the_gpu_idle_all_the_while_costs_just_that(tmp_path: Path) -> None:
    cost = line_cost(READ_LINE, waits=80, idle_us={IdleCause.SYNC: 50_000}, felt_sync_us=50_000)
    finding = the(measured(tmp_path, LOOP, profile_of(LOOP, [cost])), "WL201")
    said = "Costs 5.0 ms of a 10.0 ms step: 8 waits, the host is held up for 5.0 ms. `loss.item()` makes"
    assert finding.message.startswith(said)


@pytest.mark.parametrize(
    ("idle_us", "said"),
    [
        (3_000, "allocating memory, the host is held up for 300 µs."),
        (4_000, "allocating memory, part of it for the work of other lines."),
    ],
)
def test_memory_that_other_lines_need_is_told_from_the_lines_own(
    idle_us: int, said: str, tmp_path: Path
) -> None:
    """The host stands on ``.backward()`` while autograd's threads allocate for the lines of the forward."""
    cost = line_cost(READ_LINE, launches=10, idle_us={IdleCause.ALLOC: idle_us}, felt_alloc_us=3_000)
    finding = the(measured(tmp_path, LOOP, profile_of(LOOP, [cost])), "WL056")
    assert said in finding.message


def test_a_wait_behind_a_busy_gpu_is_no_loss(tmp_path: Path) -> None:
    """The host is held up for 9 ms of 10, but the GPU has work all the while."""
    cost = line_cost(READ_LINE, waits=10, idle_us={IdleCause.SYNC: 200}, felt_sync_us=90_000)
    found = measured(tmp_path, LOOP, profile_of(LOOP, [cost]))
    finding = the(found, "WL201")
    assert finding.measured is not None and finding.measured.cost_us == 20
    assert finding.severity is Severity.INFO
    assert not [each for each in found if each.code.startswith("WL05")]


def test_a_line_that_ran_without_waiting_refutes_the_finding(tmp_path: Path) -> None:
    finding = the(measured(tmp_path, LOOP, profile_of(LOOP, [line_cost(READ_LINE)])), "WL201")
    assert finding.severity is Severity.HINT
    said = "Costs nothing here: it ran in the captured steps, and it waits for nothing. `loss.item()` makes"
    assert finding.message.startswith(said)


@pytest.mark.parametrize(
    ("cost", "device", "reason"),
    [
        (line_cost(READ_LINE), "cpu", "of a CPU"),
        (line_cost(COPY_LINE), "NVIDIA H200", "did not run"),
        (LineCost("train.py", READ_LINE), "NVIDIA H200", "did not run"),
    ],
    ids=["on a CPU", "another line", "the host was never there"],
)
def test_what_was_not_measured_stays_as_it_is(
    cost: LineCost, device: str, reason: str, tmp_path: Path
) -> None:
    found = measured(tmp_path, LOOP, profile_of(LOOP, [cost], device=device))
    finding = the(found, "WL201")
    assert finding.measured is not None and finding.measured.outcome is Outcome.UNJUDGED
    assert reason in finding.measured.sentence
    assert finding.severity is Severity.WARNING
    assert not finding.message.startswith("Costs")
    assert len(found) == 1


def test_costs_follow_the_line_and_a_changed_line_confirms_nothing(tmp_path: Path) -> None:
    profile = profile_of(LOOP, [line_cost(READ_LINE, waits=80, idle_us={IdleCause.SYNC: 31_000})])
    moved = LOOP.replace("import torch\n", "import time\n\nimport torch\n")
    assert outcomes(measured(tmp_path, moved, profile)) == {"WL201": Outcome.CONFIRMED}
    edited = LOOP.replace("print(loss.item())", "print(2 * loss.item())")
    assert outcomes(measured(tmp_path, edited, profile)) == {"WL201": Outcome.UNJUDGED}


@pytest.mark.parametrize(
    ("device", "costs", "reason"),
    [
        (
            "NVIDIA H200",
            [line_cost(READ_LINE, file="other.py")],
            "nothing in this file ran in the captured steps",
        ),
        ("cpu", [line_cost(READ_LINE, file="other.py")], "the capture is of a CPU"),
        (
            "NVIDIA H200",
            [LineCost("aten::mm", 0, busy_us=1_000)],
            "the capture does not hold what would tell",
        ),
        ("NVIDIA H200", [line_cost(40)], "this was edited since it was measured"),
    ],
    ids=["another file", "on a CPU", "no lines followed", "no line of it is left"],
)
def test_a_file_of_which_nothing_was_measured_says_so(
    device: str, costs: list[LineCost], reason: str, tmp_path: Path
) -> None:
    profile = profile_of(LOOP, costs, device=device)
    if costs[0].line == 40:
        text = SourceText("pass\n" * 40, tmp_path / "train.py")
        profile.sources["train.py"] = CapturedSource("train.py", text.digest, text.text)
    (finding,) = measured(tmp_path, LOOP, profile)
    assert finding.measured is not None and finding.measured.outcome is Outcome.UNJUDGED
    assert finding.measured.sentence == f"Not judged: {reason}" + (
        ", which does not show what this costs a GPU." if device == "cpu" else "."
    )
    assert finding.severity is Severity.WARNING and finding.message.startswith("`loss.item()` makes")


BRANCHES = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            steps = torch.arange(x.shape[1])
        else:
            steps = torch.arange(x.shape[0])
        return x + steps.to(x.device)
"""


def test_a_branch_that_did_not_run_is_not_confirmed_by_the_line_that_uses_its_value(tmp_path: Path) -> None:
    copied = line_cost(11, copies=10, waits=10, exposed_copy_us=100, kernels=[KernelCost(PAGEABLE, 100, 10)])
    found = measured(tmp_path, BRANCHES, profile_of(BRANCHES, [line_cost(7), line_cost(8), copied]))
    said = {
        BRANCHES.count("\n", 0, each.span.start) + 1: each.measured.sentence
        for each in found
        if each.measured is not None
    }
    assert said == {
        8: "Costs 10.0 µs of a 10.0 ms step: 1 pageable copy, 1 wait.",
        10: NOT_REACHED,
    }


def test_a_copy_that_no_rule_knows_of_is_found_by_measuring(tmp_path: Path) -> None:
    cost = line_cost(
        COPY_LINE,
        copies=20,
        waits=20,
        exposed_copy_us=4_000,
        idle_us={IdleCause.COPY: 1_000},
        kernels=[KernelCost(PAGEABLE, 4_000, 20)],
    )
    found = the(measured(tmp_path, LOOP, profile_of(LOOP, [cost])), "WL052")
    assert found.severity is Severity.WARNING
    assert "Costs 500 µs of a 10.0 ms step: 2 pageable copies, 2 waits" in found.message


def test_the_backward_pass_is_launched_by_autograd_and_not_busy_python(tmp_path: Path) -> None:
    """Its kernels are charged to other lines: those of the step, of 5 µs, say how long they are."""
    profile = profile_of(LOOP, [line_cost(7, idle_us={IdleCause.LAUNCH: 9_000, IdleCause.HOST: 6_000})])
    profile.totals.launches, profile.totals.kernel_us = 1_000, 5_000
    found = the(measured(tmp_path, LOOP, profile), "WL054")
    assert "Costs 1.5 ms of a 10.0 ms step: the step's 100 kernels take 5.0 µs each." in found.message
    profile.totals.kernel_us = 50_000
    assert outcomes(measured(tmp_path, LOOP, profile)).keys() == {"WL201"}


@pytest.mark.parametrize(
    ("launches", "code", "said"),
    [
        (1_200, "WL054", "120 kernels of 2.0 µs each."),
        (100, "WL058", "the GPU has nothing to do for 300 µs before each of 10 launches."),
        (0, "WL058", "the GPU has nothing to do meanwhile."),
    ],
    ids=["many launches", "few that take long", "none"],
)
def test_time_on_the_host_is_launching_where_launches_explain_it(
    launches: int, code: str, said: str, tmp_path: Path
) -> None:
    cost = line_cost(8, launches=launches, gpu_forward_us=2.0 * launches, idle_us={IdleCause.HOST: 30_000})
    found = the(measured(tmp_path, LOOP, profile_of(LOOP, [cost])), code)
    assert found.message.startswith(f"Costs 3.0 ms of a 10.0 ms step: {said}")


def test_a_copy_is_not_charged_with_the_code_around_it(tmp_path: Path) -> None:
    """A simulator in Python takes an action from the GPU: 200 µs a step for the copy, 1 ms for the rest."""
    source = LOOP.replace("optimizer.step()", "env.step(action.cpu().numpy())")
    idle = {IdleCause.SYNC: 2_000, IdleCause.HOST: 10_000}
    kernels = [KernelCost("Memcpy DtoH (Device -> Pageable)", 20, 10)]
    cost = line_cost(8, copies=10, waits=10, idle_us=idle, kernels=kernels)
    found = measured(tmp_path, source, profile_of(source, [cost]))
    assert the(found, "WL058").message.startswith("Costs 1.0 ms of a 10.0 ms step")
    assert "WL052" not in outcomes(found)


def test_a_comment_and_the_configuration_silence_what_was_found_by_measuring(tmp_path: Path) -> None:
    cost = [line_cost(8, idle_us={IdleCause.HOST: 20_000})]
    assert "WL058" in outcomes(measured(tmp_path, LOOP, profile_of(LOOP, cost)))
    silenced = LOOP.replace("optimizer.step()", "optimizer.step()  # warplint: ignore[WL058]")
    assert "WL058" not in outcomes(measured(tmp_path, silenced, profile_of(silenced, cost)))
    (tmp_path / "pyproject.toml").write_text("[tool.warplint]\nignore = ['WL05']\n")
    assert "WL058" not in outcomes(measured(tmp_path, LOOP, profile_of(LOOP, cost)))


def test_a_severity_of_the_projects_own_stays_unless_refuted(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.warplint.severity]\nWL201 = 'error'\n")
    cheap = line_cost(READ_LINE, waits=10, idle_us={IdleCause.SYNC: 20})
    assert the(measured(tmp_path, LOOP, profile_of(LOOP, [cheap])), "WL201").severity is Severity.ERROR
    nothing = line_cost(READ_LINE)
    assert the(measured(tmp_path, LOOP, profile_of(LOOP, [nothing])), "WL201").severity is Severity.HINT


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return opened("h200-unet3d", tmp_path_factory.mktemp("h200"))


def test_the_recorded_program_is_judged_line_by_line(recorded: Profile, tmp_path: Path) -> None:
    source = recorded.sources["train.py"].text
    found = measured(tmp_path, source, recorded)
    lines = source.splitlines()
    word = {
        (each.code, lines[source[: each.span.start].count("\n")].strip()): each.measured.outcome
        for each in found
        if each.measured is not None
    }
    assert word == {
        ("WL301", "loader = DataLoader(dataset, batch_size=args.batch, shuffle=True)"): Outcome.CONFIRMED,
        ("WL055", "raw = bytearray(zlib.decompress(self.paths[index].read_bytes()))"): Outcome.FOUND,
        ("WL052", "volume, mask = volume.to(device), mask.to(device)"): Outcome.FOUND,
        ("WL101", "z = torch.arange(depth).to(x.device)"): Outcome.CONFIRMED,
        ("WL101", "y = torch.arange(height).to(x.device)"): Outcome.CONFIRMED,
        ("WL101", "w = torch.arange(width).to(x.device)"): Outcome.CONFIRMED,
        ("WL201", "running += loss.item()"): Outcome.CONFIRMED,
        ("WL502", "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)"): Outcome.CONFIRMED,
    }
    costs_us = [each.measured.cost_us for each in found if each.measured is not None]
    assert costs_us == sorted(costs_us, reverse=True)
    # The data set's own lines: what the GPU waited for is more than any other line cost.
    assert [each.code for each in found[:3]] == ["WL301", "WL055", "WL052"]


USED = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(x.shape[1])
        y = x * 2
        return y + steps.to(x.device)
"""


def test_a_cost_is_looked_for_where_the_value_is_used(tmp_path: Path) -> None:
    made = line_cost(7)
    copied = line_cost(9, copies=10, waits=10, exposed_copy_us=100, kernels=[KernelCost(PAGEABLE, 100, 10)])
    assert outcomes(measured(tmp_path, USED, profile_of(USED, [made, copied]))) == {
        "WL101": Outcome.CONFIRMED
    }
    free = measured(tmp_path, USED, profile_of(USED, [made, line_cost(9)]))
    assert outcomes(free) == {"WL101": Outcome.REFUTED}


def test_copies_of_which_nothing_tells_the_memory_refute_nothing(tmp_path: Path) -> None:
    unknown = line_cost(9, copies=10)
    found = measured(tmp_path, USED, profile_of(USED, [line_cost(7), unknown]))
    assert outcomes(found) == {"WL101": Outcome.UNJUDGED}


@pytest.mark.parametrize("device", ["NVIDIA H200", "NVIDIA GeForce GTX 1660 Ti"])
def test_float32_products_are_found_only_where_there_are_tensor_cores(device: str, tmp_path: Path) -> None:
    sgemm = KernelCost("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_cublas", 50_000, 10)
    cost = line_cost(6, busy_us=50_000, launches=10, gpu_forward_us=50_000, kernels=[sgemm])
    found = outcomes(measured(tmp_path, LOOP, profile_of(LOOP, [cost], device=device)))
    assert ("WL057" in found) == (device == "NVIDIA H200")


@pytest.mark.parametrize(("capture_us", "severity"), [(0, Severity.INFO), (30_000, Severity.ERROR)])
def test_work_beside_what_the_step_waits_for_matters_little(
    capture_us: int, severity: Severity, tmp_path: Path
) -> None:
    """The GPU idles 60 ms of 100, or 30 of 70 where the capture itself took the rest."""
    sgemm = KernelCost("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_cublas", 20_000, 10)
    cost = line_cost(6, busy_us=20_000, launches=10, gpu_forward_us=20_000, kernels=[sgemm])
    profile = profile_of(LOOP, [cost])
    totals = profile.totals
    totals.gpu_busy_us, totals.gpu_idle_us, totals.capture_us = 40_000, 60_000, capture_us
    finding = the(measured(tmp_path, LOOP, profile), "WL057")
    assert finding.severity is severity
    assert ("while the GPU idles 60% of the step" in finding.message) == (severity is Severity.INFO)


def test_time_that_two_findings_speak_of_is_lost_once(tmp_path: Path) -> None:
    """A loader without workers, and the line that it keeps the GPU waiting on."""
    source = LOOP.replace("import torch\n", "import torch\nfrom torch.utils.data import DataLoader\n")
    source += "\n\nDataLoader(data, shuffle=True)\n"
    loading = line_cost(6, idle_us={IdleCause.DATA: 20_000})
    copying = line_cost(
        7, waits=10, copies=10, exposed_copy_us=3_000, kernels=[KernelCost(PAGEABLE, 3_000, 10)]
    )
    found = measured(tmp_path, source, profile_of(source, [loading, copying, line_cost(13)]))
    costs_us = {each.code: each.measured.cost_us for each in found if each.measured and each.measured.lost}
    assert costs_us == {"WL301": 2_000, "WL055": 2_000, "WL052": 300}
    lost = [part for each in found if each.measured is not None for part in each.measured.lost or ()]
    # In a step of 10 ms.
    assert lost_together(lost) == {"20260101T000000Z-train": pytest.approx(0.23)}


def test_a_recorded_run_refutes_what_costs_nothing_with_a_fused_optimizer(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.warplint]\npreview = true\n")
    profile = opened("h200-tagger", tmp_path)
    found = measured(tmp_path, profile.sources["tagger.py"].text, profile, "tagger.py")
    zeroed = the(found, "WL505")
    assert zeroed.severity is Severity.HINT
    # A fused optimizer zeroes all gradients at once: two kernels in each of the eight steps.
    assert zeroed.message.startswith(
        "Costs nothing here: it ran in the captured steps, and it launches only 2 kernels a step. "
    )
    reads = [each.measured for each in found if each.code == "WL201" and each.measured is not None]
    # One for each of 64 sentences, and one of the loss.
    assert [measured.outcome for measured in reads] == [Outcome.CONFIRMED] * 2
    assert [": 64 waits" in reads[0].sentence, ": 1 wait" in reads[1].sentence] == [True, True]
