"""Which lines of a program each kernel stands on, for programs whose launches no frame can tell the line of.

    python kernel_lines.py compiled CAPTURE PROGRAM
    python kernel_lines.py graph CAPTURE EAGER_CAPTURE PROGRAM

``compiled``: Inductor names a kernel after the operators fused in it. Each of ``OPERATORS`` stands on one
line of the program, which must be among the kernel's. ``graph``: replayed kernels must stand on their lines
as often as where the same lines run without a graph. Prints one JSON object.
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path
from typing import Any

from warplint.profile.store import open_profile

OPERATORS = {
    "native_layer_norm": "self.norm(x)",
    "sigmoid": "torch.sigmoid(",
    "sin": ".sin()",
    "native_dropout": "F.dropout(",
    "amax": ".amax(",
}
"""ATen's name, as part of a kernel's, to text of the one line of programs/compiled.py that asks for it."""

Lines = dict[str, dict[int, int]]
"""Kernel name to its launches by line."""


def kernels_by_line(folder: Path, program: Path) -> Lines:
    found: Lines = collections.defaultdict(dict)
    for cost in open_profile(folder).lines:
        if Path(cost.file).name == program.name:
            for kernel in cost.kernels:
                found[kernel.name][cost.line] = kernel.count
    return found


def compiled_agreement(folder: Path, program: Path) -> dict[str, Any]:
    texts = program.read_text(encoding="utf-8").splitlines()
    line_of = {
        name: next(number for number, text in enumerate(texts, 1) if part in text)
        for name, part in OPERATORS.items()
    }
    counts: collections.Counter[str] = collections.Counter()
    wrong: dict[str, str] = {}
    for kernel, lines in kernels_by_line(folder, program).items():
        words = f"_{kernel}_"
        expected = {line_of[name] for name in OPERATORS if f"_{name}_" in words}
        if kernel.startswith("triton") and expected:
            key = "agree" if expected <= lines.keys() else "disagree"
            counts[key] += max(lines.values())
            if key == "disagree":
                wrong[kernel] = f"{sorted(lines)} lacks {sorted(expected - lines.keys())}"
    return _shares(counts) | {"disagreements": wrong}


def graph_agreement(folder: Path, eager: Path, program: Path) -> dict[str, Any]:
    counts: collections.Counter[str] = collections.Counter()
    replayed, expected = kernels_by_line(folder, program), kernels_by_line(eager, program)
    for kernel, lines in expected.items():
        for line, count in lines.items():
            agreeing = min(count, replayed.get(kernel, {}).get(line, 0))
            counts["agree"] += agreeing
            counts["disagree"] += count - agreeing
    return _shares(counts)


def _shares(counts: collections.Counter[str]) -> dict[str, Any]:
    compared = counts["agree"] + counts["disagree"]
    return {"launches_compared": compared, "agree_share": counts["agree"] / compared if compared else None}


def main() -> None:
    kind, *paths = sys.argv[1:]
    agreement: Any = {"compiled": compiled_agreement, "graph": graph_agreement}[kind]
    print(json.dumps(agreement(*map(Path, paths))))


if __name__ == "__main__":
    main()
