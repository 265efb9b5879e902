"""Captures with other releases of torch: `python bench/torch_matrix.py FOLDER OUT [--only 2.4]`.

Each release of RELEASES gets an environment in FOLDER, or has it from an earlier run (5 GB: PyPI has CUDA
builds only), and runs the core of the capture's tests on the CPU. OUT gets a line a release; what a release
cannot give, by LACKS, is named there. Releases that pass stand in `capture/tested.py`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "dev.txt"
LIMIT_S = 1200
"""Of one test: on a busy machine torch 2.4 takes minutes to compile."""
SUMMARY = re.compile(r"^(?:\d+ \w+(?:, )?)+ in ", re.MULTILINE)
TIMEOUT_S = 3600

RELEASES = {"2.4": ("2.4.1", "3.12"), "2.14": ("2.14.1", "3.12")}
"""Minor version to the release that is tried, and the Python it is tried on."""

COMPILED = "tests/capture/test_compiled_regions.py"
CORE = (
    "tests/capture/test_training_programs.py",
    "tests/capture/test_step_finding.py",
    "tests/capture/test_line_timeline_against_torch.py",
    "tests/capture/test_opening_kineto.py",
    COMPILED,
)


@dataclass(frozen=True)
class Lack:
    """What torch cannot give before a release, and the tests that ask for it."""

    until: tuple[int, int]
    what: str
    tests: tuple[str, ...]


LACKS = (
    Lack(
        (2, 9),
        "source lines of compiled kernels",
        (
            "test_kernels_of_a_forward_graph_name_their_lines",
            "test_kernels_of_a_backward_graph_name_forward_lines",
            "test_functions_of_the_same_operators_are_told_apart",
            "test_what_the_user_asks_inductor_for_is_left_alone",
        ),
    ),
    Lack((2, 6), "why a function was compiled again", ("test_recompilations_have_the_guard_that_failed",)),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", choices=RELEASES, help="this release; the others keep their lines")
    args = parser.parse_args()
    lines = dict(recorded(args.out))
    for minor in [args.only] if args.only else RELEASES:
        lines[minor] = tried(minor, args.folder)
        print(minor, lines[minor], flush=True)
        args.out.write_text("".join(f"{key}: {lines[key]}\n" for key in RELEASES if key in lines))
    sys.exit(any("failed" in line or "error" in line for line in lines.values()))


def recorded(out: Path) -> Iterator[tuple[str, str]]:
    if out.exists():
        for line in out.read_text().splitlines():
            minor, _, said = line.partition(": ")
            yield minor, said


def tried(minor: str, folder: Path) -> str:
    release, python = RELEASES[minor]
    lacks = [lack for lack in LACKS if tuple(map(int, minor.split("."))) < lack.until]
    left_out = [f"--deselect={COMPILED}::{test}" for lack in lacks for test in lack.tests]
    options = ["-q", "--tb=short", f"--timeout={LIMIT_S}", *left_out]
    ran = subprocess.run(
        [environment(release, python, folder), "-m", "pytest", *options, *CORE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    found = SUMMARY.search(ran.stdout)
    said = found[0].removesuffix(" in ") if found else f"error: ended with {ran.returncode}"
    if ran.returncode:
        print(ran.stdout, ran.stderr, file=sys.stderr)
    return "; ".join([f"torch {release}, Python {python}: {said}", *(f"lacks {lack.what}" for lack in lacks)])


def environment(release: str, python: str, folder: Path) -> str:
    """The interpreter of an environment with this torch and what the tests need."""
    folder.mkdir(parents=True, exist_ok=True)
    others = [line for line in REQUIREMENTS.read_text().splitlines() if not line.startswith("torch==")]
    needed, place = folder / f"torch-{release}.txt", folder / f"torch-{release}"
    needed.write_text("\n".join([*others, f"torch=={release}"]) + "\n")
    interpreter = subprocess.run(
        [ROOT / ".ci" / "find-python", python], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    packages = ["--requirement", needed.resolve(), "--editable", "."]
    subprocess.run(
        [ROOT / ".ci" / "environment", place.resolve(), interpreter, "--", *packages], cwd=ROOT, check=True
    )
    return str(place.resolve() / "bin" / "python")


if __name__ == "__main__":
    main()
