"""Texts and captures of them, joined by the real engine."""

from __future__ import annotations

import tarfile
from pathlib import Path

from warplint.advice.measured.join import Captured, findings, join
from warplint.profile.join import join as join_capture
from warplint.profile.model import CapturedSource, LineCost, Profile, Totals
from warplint.project.engine import Engine
from warplint.source.text import SourceText
from warplint.static.finding import Finding, Outcome
from wording import faults

DATA = Path(__file__).parent.parent / "profile" / "data"
H200 = "NVIDIA H200"
LONGEST = 160
"""Of what is said of a cost, or of why there is none."""


def opened(name: str, folder: Path) -> Profile:
    """A recorded capture, unpacked into a folder."""
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return join_capture(folder / name)


def profile_of(source: str, costs: list[LineCost], file: str = "train.py", device: str = H200) -> Profile:
    """Ten steps of 10 ms of which 6 ms are busy, with chosen costs by line."""
    text = SourceText(source, Path(file))
    return Profile(
        name="20260101T000000Z-train",
        command=["python", file],
        totals=Totals(wall_us=1e5, gpu_busy_us=6e4, gpu_idle_us=4e4, steps=10, device=device),
        lines=costs,
        sources={file: CapturedSource(file, text.digest, source)},
    )


def measured(root: Path, source: str, profile: Profile, file: str = "train.py") -> list[Finding]:
    """What is reported of a text once it is joined with a capture, dearest first.

    What is said of it is held to docs/language.md.
    """
    (root / "pyproject.toml").touch()
    engine = Engine.for_path(root)
    text = SourceText(source, root / file)
    checked = engine.check(text)
    found = list(findings(join(engine, checked, Captured(profile), engine.costs(text, profile))))
    for each in found:
        if each.measured is not None:
            assert list(faults(each.measured.sentence, LONGEST, most=1)) == [], each.measured.sentence
    return found


def outcomes(found: list[Finding]) -> dict[str, Outcome | None]:
    """The capture's word, by code."""
    return {each.code: each.measured.outcome if each.measured is not None else None for each in found}
