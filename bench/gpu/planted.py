"""Planted bottlenecks, one a program, and what ``warplint diagnose`` says of each.

    python bench/gpu/planted.py OUT [--only NAME …] [--jobs N] [--list]

Writes one JSON file per program to OUT, with its capture beside it, and skips those that are there, so it
can be stopped and taken up again; each takes less than half a minute. Needs a CUDA GPU, and torch and libcst
in the Python that runs this. Without a GPU the programs run as well, and are told what a CPU can tell.

``planted`` of a file is the share of the step that the program itself timed, with and without the bottleneck,
before anything was captured. It need not be the share that the sentence names: a step that loses one wait may
find another.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from running import PROGRAMS, ROOT, capture, keep, machine, notes, python

STEPS = 64
"""Of which the program times itself; it makes some more to be captured."""
SETTLING = 80
"""More, so that the host is as far ahead of the GPU as it gets: a queue holds about a thousand launches."""


@dataclass(frozen=True)
class Planted:
    """A program with its kind of bottleneck, and the verdict that is right; the line is the marked one.

    ``bottleneck`` is a class of docs/diagnosis.md, ``none`` for what must not be accused; ``cause`` its row
    there. ``on_cpu`` is the class where there is no GPU.
    """

    program: str
    kind: str
    bottleneck: str
    cause: str
    on_cpu: str = "none"

    @property
    def name(self) -> str:
        return f"{self.program}-{self.kind}"

    @property
    def path(self) -> Path:
        return PROGRAMS / f"planted_{self.program}.py"

    @property
    def line(self) -> int:
        """0 where there is nothing to find."""
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            if self.kind in line.partition("# planted: ")[2].split(", "):
                return number
        return 0


PLANTED = (
    Planted("loader", "workers", "data", "workers compute", "data"),
    Planted("loader", "inline", "data", "no workers seen", "data"),
    Planted("loader", "storage", "data", "workers wait for storage", "data"),
    Planted("wait", "item", "sync", "values read back"),
    Planted("wait", "mask", "sync", "values read back"),
    Planted("wait", "synchronize", "sync", "calls that wait"),
    Planted("launch", "tiny", "launch", "small kernels"),
    Planted("launch", "optimizer", "launch", "small kernels"),
    Planted("launch", "python", "launch", "Python between launches"),
    Planted("copies", "pageable", "bandwidth", "pageable copies"),
    Planted("copies", "pinned", "bandwidth", "the link is full"),
    Planted("precision", "fp32", "compute", "fp32 products"),
    Planted("precision", "convolution", "compute", "fp32 products"),
    Planted("allocator", "empty_cache", "allocator", "memory taken and given back"),
    Planted("allocator", "sizes", "allocator", "memory taken and given back"),
    Planted("healthy", "bf16", "none", ""),
    Planted("healthy", "tf32", "none", ""),
    Planted("healthy", "item", "none", ""),
)


def measure(planted: Planted, out: Path, on_gpu: bool) -> dict[str, Any]:
    """Run it under a capture, keep that, and compare the diagnosis."""
    words = [str(planted.path), planted.kind, str(STEPS)]
    folder, ran = capture(words, ROOT, "--after", str(STEPS + SETTLING), "--budget", "0")
    said = json.loads(python(["-m", "warplint", "diagnose", str(folder), "--format", "json"]))
    keep(folder, out / f"capture-{planted.name}")
    step_ms = ran.said["step_ms"]
    bottleneck = planted.bottleneck if on_gpu else planted.on_cpu
    line = planted.line if bottleneck != "none" else 0
    right = {
        "class": said["class"] == bottleneck,
        "cause": said["cause"] == planted.cause or not on_gpu,
        "line": said["line"] == line and (not line or said["file"].endswith(planted.path.name)),
    }
    return {
        "right": all(right.values()),
        "wrong": [name for name, is_right in right.items() if not is_right],
        "expected": asdict(planted) | {"bottleneck": bottleneck, "line": line},
        "planted": {"step_ms": step_ms, "share": 1 - step_ms["without"] / step_ms["planted"]},
        "diagnosis": said,
        "notes": notes(folder),
    }


def record(planted: Planted, out: Path, described: dict[str, str]) -> str:
    """A line that says how it went."""
    begin = time.perf_counter()
    try:
        measured = measure(planted, out, described["device"] != "cpu")
    except (RuntimeError, OSError, KeyError, ValueError) as error:
        return f"{planted.name}: failed: {type(error).__name__}: {error}"
    result = {"machine": described, "measured": measured}
    (out / f"{planted.name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    verdict = "right" if measured["right"] else f"WRONG {', '.join(measured['wrong'])}"
    return (
        f"{planted.name}: {verdict} ({time.perf_counter() - begin:.0f} s), planted "
        f"{measured['planted']['share']:.0%}\n    {measured['diagnosis']['sentence']}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", help="names, or beginnings of names")
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        help="programs started at a time; each makes its steps alone (default 1)",
    )
    parser.add_argument("--list", action="store_true", help="name the programs")
    args = parser.parse_args()
    if args.list:
        print("\n".join(each.name for each in PLANTED))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    chosen = [
        each
        for each in PLANTED
        if not (args.out / f"{each.name}.json").exists()
        and (not args.only or each.name.startswith(tuple(args.only)))
    ]
    described = machine()
    with ThreadPoolExecutor(args.jobs) as pool:
        for said in pool.map(lambda each: record(each, args.out, described), chosen):
            print(said, flush=True)


if __name__ == "__main__":
    main()
