"""A light capture from an H200: its trace names threads as CUPTI does, with no operators to tell them by."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from warplint.profile.join import join
from warplint.profile.model import LineCost, Profile

ARCHIVE = Path(__file__).parent / "data" / "h200-light.tar.xz"
STEPS, LEAD_IN = 2, 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    unpacked = tmp_path_factory.mktemp("h200")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(unpacked, filter="data")
    return unpacked / "h200-light"


@pytest.fixture(scope="module")
def profile(folder: Path) -> Profile:
    return join(folder)


def launches_a_step_by_thread(folder: Path) -> list[int]:
    """Counted in the file: the backward pass has a thread of its own, and launches more than the other."""
    events = json.loads((folder / "rank0.1.w1.trace.json").read_text())["traceEvents"]
    threads = {
        event["args"]["correlation"]: event["tid"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event["args"]
    }
    counts = Counter(
        threads[event["args"]["correlation"]] for event in events if event.get("cat") == "kernel"
    )
    return sorted(count // (STEPS + LEAD_IN) for count in counts.values())


def costs_of(profile: Profile, statement: str) -> LineCost:
    (text,) = (source.text for source in profile.sources.values())
    (number,) = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == statement]
    return next(cost for cost in profile.lines if cost.line == number)


def test_launches_stand_on_the_lines_of_their_thread(folder: Path, profile: Profile) -> None:
    others, backward = launches_a_step_by_thread(folder)
    # The stepping thread itself fills the gradient that the backward pass begins with.
    first_gradient = 1
    assert costs_of(profile, "loss.backward()").launches == STEPS * (backward + first_gradient)
    assert sum(cost.launches for cost in profile.lines) == STEPS * (backward + others)


def test_phases_are_told_from_the_thread(profile: Profile) -> None:
    backward = costs_of(profile, "loss.backward()")
    assert backward.gpu_forward_us < backward.gpu_backward_us / 100
    assert {cost.line for cost in profile.lines if cost.gpu_backward_us} == {backward.line}
    assert costs_of(profile, "hidden = self.first(x)").gpu_forward_us > 0
