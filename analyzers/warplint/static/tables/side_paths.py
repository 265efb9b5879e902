"""Folders and files beside the program: what is slow there seldom costs a training or inference run.

Source: labelled sites of 56 public PyTorch repositories; most false alarms stood in such places, and few true
findings did.
"""

from __future__ import annotations

from warplint.source.pattern import Pattern

FOLDER = Pattern(
    r"_?(tests?|testing|docs?|documentation|benchmarks?|benches|bench|datasets?|transforms"
    r"|convert\w*|checkpoints|visuali[sz]\w*|plot\w*)"
)
"""Tests, documentation, measurements, and what prepares, converts or shows data."""

FILE = Pattern(
    r"test_\w+|\w+_test|conftest|bench(mark)?_\w+|\w+_bench(mark)?|(\w+_)?convert\w*|(\w+_)?checkpoints?(_\w+)?"
    r"|(\w+_)?visuali[sz]\w*|(\w+_)?plot\w*|(image_|video_)?processing_\w+|tokeni[sz]\w*"
)
"""The same, as names of files without their suffix."""
