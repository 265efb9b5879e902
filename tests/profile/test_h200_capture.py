"""A capture of the example from an H200: what is known of the program must be found in it."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warplint.capture.layout import RawReader, RawWriter, Record, parse_json
from warplint.profile.join import join
from warplint.profile.model import IdleCause, LineCost, Profile

ARCHIVE = Path(__file__).parent / "data" / "h200-unet3d.tar.xz"
STEPS = 10
POSITIONS = [
    "z = torch.arange(depth).to(x.device)",
    "y = torch.arange(height).to(x.device)",
    "w = torch.arange(width).to(x.device)",
]
LOADING = [
    "raw = bytearray(zlib.decompress(self.paths[index].read_bytes()))",
    "volume = (volume - volume.mean()) / (volume.std() + 1e-6)",
]
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    unpacked = tmp_path_factory.mktemp("h200")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(unpacked, filter="data")
    return unpacked / "h200-unet3d"


@pytest.fixture(scope="module")
def profile(folder: Path) -> Profile:
    return join(folder)


def at(profile: Profile, statement: str) -> LineCost:
    lines = profile.sources["train.py"].text.splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.strip() == statement]
    return next(cost for cost in profile.lines if cost.line == number)


def test_wall_time_is_charged_to_lines(profile: Profile) -> None:
    totals = profile.totals
    assert (totals.steps, totals.device, totals.driver) == (STEPS, "NVIDIA H200", "580.159.04")
    assert totals.gpu_busy_us + totals.gpu_idle_us == pytest.approx(totals.wall_us, abs=1e-3)
    charged = sum(cost.busy_us + cost.total_idle_us for cost in profile.lines)
    assert charged + totals.unattributed_us == pytest.approx(totals.wall_us, abs=1e-3)
    assert totals.unattributed_us < 0.01 * totals.wall_us


def test_steps_are_alike_so_counts_divide_by_them(profile: Profile) -> None:
    totals = profile.totals
    assert totals.kernels == totals.launches
    for cost in profile.lines:
        assert (cost.launches % STEPS, cost.copies % STEPS, cost.waits % STEPS) == (0, 0, 0), cost.line


@pytest.mark.parametrize("statement", POSITIONS)
def test_planted_position_indices_show_their_pageable_copy(statement: str, profile: Profile) -> None:
    cost = at(profile, statement)
    assert (cost.copies, cost.waits, cost.launches) == (STEPS, STEPS, 0)
    assert [(kernel.name, kernel.count) for kernel in cost.kernels] == [(PAGEABLE, STEPS)]
    # 64 positions of eight bytes.
    assert cost.copy_bytes == STEPS * 64 * 8


def test_planted_item_shows_its_wait(profile: Profile) -> None:
    cost = at(profile, "running += loss.item()")
    assert (cost.copies, cost.copy_bytes, cost.waits) == (STEPS, STEPS * 4, STEPS)


def test_batch_is_copied_where_it_is_moved(profile: Profile) -> None:
    cost = at(profile, "volume, mask = volume.to(device), mask.to(device)")
    # Volume and mask, each 4 x 64^3 floats.
    assert (cost.copies, cost.copy_bytes) == (2 * STEPS, STEPS * 2 * 4 * 64**3 * 4)


def test_planted_slow_loading_is_why_the_gpu_waits(profile: Profile) -> None:
    loading = sum(at(profile, statement).idle_us[IdleCause.DATA] for statement in LOADING)
    everything = sum(cost.idle_us.get(IdleCause.DATA, 0) for cost in profile.lines)
    assert loading > 0.8 * everything
    assert everything > 0.8 * profile.totals.gpu_idle_us


def test_optimizer_and_backward_work_are_told_apart(profile: Profile) -> None:
    step = at(profile, "optimizer.step()")
    assert [cost.line for cost in profile.lines if cost.gpu_optimizer_us] == [step.line]
    assert step.gpu_backward_us == 0
    convolution = at(profile, "x = F.relu(self.first_norm(self.first(x)))")
    # A convolution's backward has two products where its forward has one.
    assert convolution.gpu_backward_us > convolution.gpu_forward_us > 0


Change = Callable[[dict[str, Any]], dict[str, Any]]


def changed(folder: Path, to: Path, change_close: Change, change_trace: Change) -> Profile:
    """The capture joined after its WINDOW_CLOSE record and its trace were changed."""
    shutil.copytree(folder, to)
    (raw,) = to.glob("*.wlraw")
    records = list(RawReader(raw).records())
    raw.unlink()
    writer = RawWriter(raw)
    for record, payload in records:
        if record is Record.WINDOW_CLOSE:
            writer.write_json(record, change_close(parse_json(payload)))
        else:
            writer.write(record, payload)
    writer.close()
    (trace,) = to.glob("*.trace.json")
    trace.write_text(json.dumps(change_trace(json.loads(trace.read_text()))))
    return join(to)


def unchanged(value: dict[str, Any]) -> dict[str, Any]:
    return value


def test_arrows_and_sequence_numbers_lead_to_the_same_lines(
    folder: Path, profile: Profile, tmp_path: Path
) -> None:
    def without_arrows(trace: dict[str, Any]) -> dict[str, Any]:
        kept = [event for event in trace["traceEvents"] if event.get("cat") != "fwdbwd"]
        assert len(kept) < len(trace["traceEvents"])
        return {**trace, "traceEvents": kept}

    other = changed(folder, tmp_path / "capture", unchanged, without_arrows)
    assert other.lines == profile.lines


def test_markers_alone_tie_the_clocks_nearly_as_well_as_clock_readings(
    folder: Path, profile: Profile, tmp_path: Path
) -> None:
    def without_readings(close: dict[str, Any]) -> dict[str, Any]:
        assert close["clock"]
        return {**close, "clock": []}

    other = changed(folder, tmp_path / "capture", without_readings, unchanged)
    launches = {cost.line: cost.launches for cost in profile.lines}
    others = {cost.line: cost.launches for cost in other.lines}
    moved = sum(abs(launches.get(line, 0) - others.get(line, 0)) for line in launches | others)
    assert moved <= 0.01 * profile.totals.launches
