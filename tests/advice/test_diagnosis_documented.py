"""docs/diagnosis.md has every cause, bound, device and figure, and no other."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import diagnosing
import measuring
import pytest
import scoring

import warplint.advice.diagnosis as package
from warplint.advice.diagnosis.cause import all_causes
from warplint.advice.diagnosis.devices import DEVICES, limits_of
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Phase
from wording import PAGE

DOCUMENT = Path(__file__).parents[2] / "docs" / "diagnosis.md"


def rows(heading: str) -> list[list[str]]:
    """The cells of the tables below a heading, without their heads."""
    section = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    tables: list[str] = re.findall(r"(?:^\|.*\|\n)+", section, re.MULTILINE)
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for table in tables
        for line in table.splitlines()[2:]
    ]


def test_every_cause_is_documented_and_no_other() -> None:
    documented = [(row[0], row[1]) for row in rows("Classes and causes")]
    known = [(cause.bottleneck.value, cause.name) for cause in all_causes()]
    assert sorted(documented) == sorted([*known, ("none", "")])
    assert {name for name, _ in documented} == {each.value for each in Bottleneck}


def test_every_bound_is_documented_and_no_other() -> None:
    documented = {row[0].strip("`"): row[1] for row in rows("Bounds")}
    known = {each.name: bound(each.name, getattr(THRESHOLDS, each.name)) for each in fields(THRESHOLDS)}
    assert documented == known


def bound(name: str, value: float) -> str:
    if name.endswith("_us"):
        return f"{value:.0f} µs"
    return f"{value:.0%}" if value < 1 else f"{value:g} times"


def test_every_device_is_documented_and_no_other() -> None:
    documented = [
        (name, float(fp32), float(tensor), kind, float(link), source)
        for name, fp32, tensor, kind, link, source in rows("Limits of devices")
    ]
    assert documented == [
        (
            each.name,
            each.fp32_tflops,
            each.tensor_tflops,
            each.tensor_dtype,
            each.link_gb_s,
            f"[NVIDIA]({each.source})",
        )
        for _, each in DEVICES
    ]


def test_every_phase_is_documented_and_no_other() -> None:
    assert [row[0] for row in rows("Phases")] == [phase.value for phase in Phase]


def test_every_figure_is_documented_and_no_other() -> None:
    documented = {
        name
        for row in rows("`warplint diagnose --format json`")
        if len(row) == 2
        for name in re.findall(r"`(\w+)`", row[0])
    }
    text = "".join(path.read_text(encoding="utf-8") for path in Path(package.__path__[0]).rglob("*.py"))
    known = set(re.findall(r'Figure\(\s*"(\w+)"', text))
    known |= {f"{each.value}_share" for each in Bottleneck if each is not Bottleneck.NONE} | {"traffic_share"}
    assert documented == known


def test_names_of_devices_as_drivers_give_them() -> None:
    known = {
        "NVIDIA H200": "H200",
        "NVIDIA H100 80GB HBM3": "H100 SXM",
        "NVIDIA H100 PCIe": "H100 PCIe",
        "NVIDIA A100-SXM4-80GB": "A100",
        "NVIDIA A100-PG509-200": "A100",
        "NVIDIA A10": "A10",
        "NVIDIA L4": "L4",
        "NVIDIA L40S": "L40S",
        "Tesla T4": "T4",
        "Tesla V100-DGXS-32GB": "V100",
        "Tesla V100-PCIE-16GB": "V100 PCIe",
    }
    assert {device: getattr(limits_of(device), "name", None) for device in known} == known


def test_devices_that_only_sound_alike_have_no_limits() -> None:
    for device in (
        "NVIDIA A10G",
        "NVIDIA H200 NVL",
        "NVIDIA L40",
        "NVIDIA RTX A1000",
        "AMD Instinct MI300X",
        "NVIDIA GH200 480GB",
        "",
    ):
        assert limits_of(device) is None, device


@pytest.mark.parametrize("longest", [diagnosing.LONGEST, measuring.LONGEST, scoring.LONGEST])
def test_the_page_of_language_names_the_lengths(longest: int) -> None:
    assert f"at most {longest} characters" in PAGE.read_text(encoding="utf-8")
