"""One planted bottleneck a program, captured on an H200 by bench/gpu/planted.py: right class, cause and line.

The line is the one that the captured program's own text marks. A healthy program has none, and is not
accused.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from diagnosing import diagnose

from warplint.profile.join import join
from warplint.profile.model import Profile

DATA = Path(__file__).parent / "data"
MARK = "# planted: "

PLANTED = {
    "loader-inline": ("data", "no workers seen"),
    "wait-item": ("sync", "values read back"),
    "launch-tiny": ("launch", "small kernels"),
    "launch-python": ("launch", "Python between launches"),
    "copies-pageable": ("bandwidth", "pageable copies"),
    "copies-pinned": ("bandwidth", "the link is full"),
    "precision-fp32": ("compute", "fp32 products"),
    "precision-convolution": ("compute", "fp32 products"),
    "allocator-empty_cache": ("allocator", "memory taken and given back"),
    "allocator-sizes": ("allocator", "memory taken and given back"),
}
HEALTHY = ("healthy-bf16", "healthy-tf32", "healthy-item")


def captured(name: str, folder: Path) -> Profile:
    with tarfile.open(DATA / f"h200-planted-{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return join(folder / f"h200-planted-{name}")


def marked(profile: Profile, kind: str) -> tuple[str, int]:
    """The line whose comment names the kind of bottleneck."""
    places = [
        (source.file, number)
        for source in profile.sources.values()
        for number, line in enumerate(source.text.splitlines(), 1)
        if kind in line.partition(MARK)[2].split(", ")
    ]
    (place,) = places
    return place


@pytest.mark.parametrize("name", PLANTED)
def test_what_was_planted_is_found_at_its_line(name: str, tmp_path: Path) -> None:
    profile = captured(name, tmp_path)
    run = diagnose(profile).run
    assert (run.bottleneck.value, run.cause) == PLANTED[name]
    assert (run.file, run.line) == marked(profile, name.partition("-")[2])


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_programs_are_not_accused(name: str, tmp_path: Path) -> None:
    diagnosis = diagnose(captured(name, tmp_path))
    assert diagnosis.run.bottleneck.value == "none"
    assert diagnosis.run.sentence.startswith("Nothing stands out")
    assert [verdict.bottleneck.value for _, verdict in diagnosis.phases] == ["none"] * len(diagnosis.phases)


@pytest.mark.parametrize("name", [*PLANTED, *HEALTHY])
def test_waits_make_no_more_than_the_step(name: str, tmp_path: Path) -> None:
    diagnosis = diagnose(captured(name, tmp_path))
    figures = {
        each.name: float(each.value) for each in diagnosis.run.evidence if each.name.endswith("_share")
    }
    idle_or_copying = ("data", "sync", "launch", "bandwidth", "allocator", "communication")
    assert sum(figures[f"{each}_share"] for each in idle_or_copying) <= 1.001
    assert sum(verdict.share for _, verdict in diagnosis.phases) <= 1.001


def test_the_run_says_of_a_line_what_its_phase_says(tmp_path: Path) -> None:
    """Python that launches nothing, beside an optimizer's that launches some."""
    diagnosis = diagnose(captured("launch-python", tmp_path))
    forward = next(verdict for phase, verdict in diagnosis.phases if phase.value == "forward")
    assert "which launches nothing meanwhile" in diagnosis.run.sentence
    assert "which launches nothing meanwhile" in forward.sentence


@pytest.mark.parametrize("name", PLANTED)
def test_comments_are_not_quoted(name: str, tmp_path: Path) -> None:
    diagnosis = diagnose(captured(name, tmp_path))
    sentences = [diagnosis.run.sentence, *(verdict.sentence for _, verdict in diagnosis.phases)]
    assert not [sentence for sentence in sentences if "#" in sentence]
