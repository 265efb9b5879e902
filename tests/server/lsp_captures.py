"""Finished captures with chosen figures, as ``warplint run`` leaves them in a project."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST, STORE, RunManifest
from warplint.profile.database import write_database
from warplint.profile.model import CapturedSource, LineCost, Profile, Totals
from warplint.profile.store import open_profile
from warplint.source.text import SourceText

RECORDED = Path(__file__).parent.parent / "profile" / "data" / "h200-unet3d.tar.xz"


def write_recorded(root: Path) -> Path:
    """Put the capture that was made on an H200 under ``root``, and the program; the program's path."""
    with tarfile.open(RECORDED) as archive:
        archive.extractall(root / CAPTURES_DIRECTORY, filter="data")
    (folder,) = (root / CAPTURES_DIRECTORY).iterdir()
    program = root / "train.py"
    program.write_text(open_profile(folder).sources["train.py"].text)
    return program


def write_capture(
    root: Path, name: str, file: str, costs: Sequence[LineCost], device: str = "NVIDIA H200"
) -> Path:
    """Put a joined capture of one file's lines under ``root``; ``name`` sorts as its time would."""
    folder = root / CAPTURES_DIRECTORY / name
    folder.mkdir(parents=True)
    source = SourceText.read(root / file)
    profile = Profile(
        name=name,
        command=["python", file],
        totals=Totals(wall_us=1e6, gpu_busy_us=6e5, gpu_idle_us=4e5, steps=10, device=device),
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
