"""Finished captures with chosen figures, as ``warplint run`` leaves them in a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST, STORE, RunManifest
from warplint.profile.database import write_database
from warplint.profile.model import CapturedSource, LineCost, Profile, Totals
from warplint.source.text import SourceText


def write_capture(root: Path, name: str, file: str, costs: Sequence[LineCost]) -> Path:
    """Put a joined capture of one file's lines under ``root``; ``name`` sorts as its time would."""
    folder = root / CAPTURES_DIRECTORY / name
    folder.mkdir(parents=True)
    source = SourceText.read(root / file)
    profile = Profile(
        name=name,
        command=["python", file],
        totals=Totals(wall_us=1e6, gpu_busy_us=6e5, gpu_idle_us=4e5, steps=10, device="NVIDIA H200"),
        lines=[replace(cost, file=file) for cost in costs],
        sources={file: CapturedSource(file, source.digest, source.text)},
    )
    manifest = RunManifest(
        command=profile.command, cwd=str(root), root=str(root), started=1.0, warplint="test", finished=2.0
    )
    manifest.write(folder)
    written = (folder / MANIFEST).read_bytes()
    (folder / MANIFEST).unlink()
    write_database(folder / STORE, profile, {MANIFEST: len(written)})
    # The manifest comes last, as in a run: it says that the capture is whole.
    manifest.write(folder)
    return folder
