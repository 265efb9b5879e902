"""Scores worked out by hand from the tables of docs/score.md."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from scoring import DOCUMENTED, DOCUMENTED_PROGRAM, ROW, checked, documented_parts, points, scored
from torch.utils.data import TensorDataset

from warplint.advice.score.file_score import score
from warplint.advice.score.practices import PRACTICES
from warplint.advice.score.weights import COSTS, Band
from warplint.source.records import replace
from warplint.static.finding import Confidence, Hotness

START = (75, "where every file with GPU code starts", None)

LOOP = """\
import torch
from torch.nn.functional import cross_entropy


def train(model, loader, optimizer):
    for images, labels in loader:
        images, labels = images.cuda(), labels.cuda()
        loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
"""
LOOP_LINES = 10
READ = "        print(loss.item())\n"
"""A certain finding of WL201, whose risk is medium."""
CPU_OPERAND = "        images = images + torch.rand(64)\n"
"""A certain finding of WL101, whose risk is high."""

FORWARD = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x + torch.arange(8).to(x.device)
"""
"""A likely finding of WL101."""


def test_code_without_findings_or_practice_is_just_green() -> None:
    found = scored(LOOP)
    assert (found.value, found.band) == (75, Band.GREEN)
    assert points(found) == [START]
    assert found.summary == "Nothing was found that keeps the GPU waiting."


def test_a_certain_medium_finding_costs_15() -> None:
    found = scored(LOOP + READ)
    assert points(found) == [START, (-15, "WL201 host-read-in-hot-loop, certain", 11)]
    assert (found.value, found.band) == (60, Band.YELLOW)
    assert found.summary == "WL201 host-read-in-hot-loop costs most."


def test_further_findings_of_a_rule_cost_half_of_the_one_before() -> None:
    # 15 + 7.5 + 3.75 + 1.875 = 28.125
    found = scored(LOOP + READ * 4)
    assert points(found) == [START, (-28, "WL201 host-read-in-hot-loop, certain, 4 places", 11)]
    assert found.value == 47


def test_half_a_point_counts_as_one() -> None:
    # 15 + 7.5 = 22.5
    assert scored(LOOP + READ * 2).value == 52


def test_a_certain_medium_finding_holds_yellow() -> None:
    practice = (
        "torch.set_float32_matmul_precision('high')\nmodel = torch.compile(model)\ntorch.autocast('cuda')\n"
    )
    found = scored(LOOP + READ + practice)
    assert points(found) == [
        START,
        (6, "half precision", 14),
        (5, "compiled", 13),
        (3, "TF32 matrix products", 12),
        (-15, "WL201 host-read-in-hot-loop, certain", 11),
        (-4, "held at 70: certain medium-risk finding WL201", 11),
    ]
    assert (found.value, found.band) == (70, Band.YELLOW)
    assert found.summary == "Held yellow by WL201 host-read-in-hot-loop."


def test_a_certain_high_risk_finding_holds_red() -> None:
    found = scored(LOOP + CPU_OPERAND)
    assert points(found) == [
        START,
        (-30, "WL101 host-tensor-in-hot-code, certain", 11),
        (-15, "held at 30: certain high-risk finding WL101", 11),
    ]
    assert (found.value, found.band) == (30, Band.RED)
    assert found.summary == "Held red by WL101 host-tensor-in-hot-code."


def test_a_likely_high_risk_finding_holds_yellow_and_not_red() -> None:
    practice = "torch.autocast('cuda')\ntorch.compile(Net())\ntorch.no_grad()\ntorch.cuda.graph(g)\n"
    found = scored(FORWARD + practice)
    assert [part.points for part in found.parts] == [75, 6, 5, 4, 3, -20, -3]
    assert found.parts[-1].label == "held at 70: likely high-risk finding WL101"
    assert (found.value, found.band) == (70, Band.YELLOW)


def test_what_is_certain_counts_before_what_is_likely() -> None:
    likely = FORWARD.removeprefix("import torch\n")
    found = scored(LOOP + CPU_OPERAND + likely)
    # The likely one is the rule's second: half of 20.
    assert [part.points for part in found.parts] == [75, -30, -15, -10]
    assert found.value == 20


def test_good_practice_adds_25_at_most() -> None:
    every = "\n".join(
        [
            "torch.autocast('cuda')",
            "torch.compile(model, mode='max-autotune')",
            "torch.nn.functional.scaled_dot_product_attention(q, k, v)",
            "torch.no_grad()",
            "torch.optim.AdamW(weights, fused=True)",
            "torch.set_float32_matmul_precision('high')",
        ]
    )
    found = scored("import torch\n" + every)
    assert [part.points for part in found.parts] == [75, 6, 5, 5, 4, 3, 3, 3, -4]
    assert (found.value, found.parts[-1].label) == (100, "good practice adds 25 at most")


def test_no_score_is_below_0() -> None:
    before = checked(LOOP + READ * 3 + CPU_OPERAND * 3)
    certain = [finding for finding in before.findings if finding.code == "WL101"]
    other = [replace(finding, code="WL301", name="slow-data-loader") for finding in certain]
    found = score(replace(before, findings=(*before.findings, *other)))
    assert found is not None
    # 75 - 52.5 (53) - 26.25 (26) - 26.25 (26), which is below the hold already.
    assert sorted(part.points for part in found.parts) == [-53, -26, -26, 30, 75]
    assert (found.value, found.parts[-1].label) == (0, "no score is below 0")


def test_findings_that_are_only_possible_never_change_the_colour() -> None:
    possible = [replace(finding, confidence=Confidence.POSSIBLE) for finding in checked(FORWARD).findings]
    found = score(replace(checked(FORWARD), findings=tuple(possible)))
    assert found is not None
    assert points(found) == [
        START,
        (-6, "WL101 host-tensor-in-hot-code, possible", 6),
        (2, "what is only possible leaves the band as it is", None),
    ]
    assert (found.value, found.band) == (71, Band.GREEN)


def test_a_finding_where_the_program_is_seldom_counts_as_low_risk() -> None:
    (finding,) = checked(LOOP + READ).findings
    found = score(replace(checked(LOOP + READ), findings=(replace(finding, hotness=Hotness.EPOCH),)))
    assert found is not None and [part.points for part in found.parts] == [75, -5]


def test_a_suppressed_finding_does_not_count() -> None:
    silenced = CPU_OPERAND.rstrip() + "  # warplint: ignore[WL101]\n"
    assert scored(LOOP + silenced).value == 75


def test_a_text_that_does_not_parse_says_so_and_keeps_what_the_rest_says() -> None:
    found = scored(LOOP + READ + "def broken(:\n    pass\n")
    assert (found.value, found.band) == (60, Band.YELLOW)
    assert points(found)[-1] == (0, "this does not parse: the rest of the file counts", 12)
    assert found.summary.endswith(" Part of the file does not parse.")


def test_half_a_word_does_not_move_a_score() -> None:
    body = "def evaluate(model, images):\n    with torch.no_grad():\n        return model(images)\n"
    before = checked(LOOP + READ + body)
    typing = checked(LOOP + READ + body + "    x = (\n", before)
    again = checked(LOOP + READ + body + "    x = (1,\n", typing)
    assert typing.analysis.broken and again.analysis.broken
    for version in (before, typing, again):
        found = score(version)
        assert found is not None and found.value == 63
    # The line of what is counted from before is not known any more.
    assert {part.label: part.line for part in found.parts}["no autograd where nothing is trained"] is None
    deleted = scored(LOOP + READ, again)
    assert deleted.value == 60


def test_a_file_whose_only_function_is_being_typed_in_keeps_its_score() -> None:
    before = checked(LOOP)
    assert scored(LOOP + "        x = \n", before).value == 75


def test_the_documented_example_adds_up_as_documented() -> None:
    found = scored(DOCUMENTED_PROGRAM)
    assert points(found) == documented_parts("## An example")
    assert f"| **{found.value}** | **{found.band.value}** |" in DOCUMENTED


def test_the_documented_program_runs() -> None:
    defined: dict[str, Any] = {}
    # What is moved to a GPU there stays here. Indices alone may be on the CPU when what they index is not.
    exec(DOCUMENTED_PROGRAM.replace(".cuda(non_blocking=True)", ""), defined)
    dataset = TensorDataset(torch.randn(65, 3, 4, 4), torch.randint(2, (65,)))
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2))
    before = model[1].bias.tolist()
    defined["train"](model, dataset, torch.optim.SGD(model.parameters(), lr=0.1), 1)
    assert model[1].bias.tolist() != before


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"len(images)": "len(images), device=images.device"}, 70),
        ({"len(images)": "len(images), device=images.device", "            print": "        print"}, 86),
    ],
)
def test_the_documented_improvements_give_the_documented_scores(changes: dict[str, str], value: int) -> None:
    program = DOCUMENTED_PROGRAM
    for old, new in changes.items():
        assert program.count(old) == 1
        program = program.replace(old, new)
    assert scored(program).value == value


def test_the_documented_tables_are_those_that_count() -> None:
    rows = ROW.findall(DOCUMENTED.partition("## An example")[0])
    practices = [(label, int(value)) for label, value, *_ in rows if value.isdigit() and label not in RISKS]
    assert practices == [(practice.label, practice.points) for practice in PRACTICES]
    costs = {risk: tuple(map(int, values)) for risk, *values in rows if risk in RISKS}
    assert costs == {risk: tuple(COSTS[key] for key in COSTS if key[0].value == risk) for risk in RISKS}


RISKS = ("high", "medium", "low")
