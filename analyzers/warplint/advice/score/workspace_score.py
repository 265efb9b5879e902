"""The score of a workspace, from those of its files. docs/score.md says it to users."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from warplint.advice.score.file_score import Score as FileScore
from warplint.advice.score.file_score import band_of
from warplint.advice.score.weights import Band


@dataclass(frozen=True, slots=True)
class WorkspacePart:
    """One reason for the number; ``file`` and its ``line``, from 1, are None where all files are meant."""

    label: str
    points: int
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class WorkspaceScore:
    """``value`` from 0 to 100 is the sum of the points of its parts; ``bands`` count the files."""

    value: int
    band: Band
    bands: Mapping[Band, int]
    parts: tuple[WorkspacePart, ...]


def workspace_score(files: Mapping[str, FileScore]) -> WorkspaceScore | None:
    """The mean of the scores of files, by their names, held where one of them is; None without any."""
    if not files:
        return None
    mean = math.floor(Fraction(sum(score.value for score in files.values()), len(files)) + Fraction(1, 2))
    what = "the one file" if len(files) == 1 else f"the mean of {len(files)} files"
    parts = [WorkspacePart(f"{what} with GPU code", mean)]
    holds = [(score.hold, name) for name, score in files.items() if score.hold is not None]
    hold, name = min(holds, key=lambda held: (held[0].value, held[1]), default=(None, None))
    if hold is not None and mean > hold.value:
        parts.append(WorkspacePart(hold.label, hold.value - mean, name, hold.line))
    value = sum(part.points for part in parts)
    counted = Counter(score.band for score in files.values())
    return WorkspaceScore(value, band_of(value), {band: counted[band] for band in Band}, tuple(parts))
