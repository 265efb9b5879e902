"""Everything Warplint claims about GPUs, measured again on the machine this runs on.

    python bench/gpu/record.py OUT [--only NAME …] [--nanogpt FOLDER]

Writes one JSON file per measurement to OUT and skips those that are there, so it can be stopped and taken up
again. ``--nanogpt`` is a checkout of the public nanoGPT program, which then runs on made-up data. Needs a
CUDA GPU, and torch and libcst in the Python that runs this.

agreement-*   launches whose line agrees with an independent record (truth.py), forward and backward
waits         planted waits of 20 ms (sleep, synchronize, copy) against the program's own clock
fix           the example's planted copies before and after ``warplint check --fix --unsafe-fixes``
price-*       step times with a capture (before, inside, after) and without one, and the seconds it took
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "bench" / "gpu"
UNET = ROOT / "examples" / "unet3d" / "train.py"
NANOGPT_ARGUMENTS = [
    "--dataset=made_up",
    "--compile=False",
    "--eval_interval=100000",
    "--eval_iters=1",
    "--log_interval=1000000",
    "--always_save_checkpoint=False",
    "--gradient_accumulation_steps=1",
    "--batch_size=12",
    "--block_size=1024",
    "--max_iters=120",
]


class Bench:
    """One session of measurements."""

    def __init__(self, out: Path, nanogpt: Path | None) -> None:
        self.out, self.nanogpt = out, nanogpt
        self.scratch = Path(tempfile.mkdtemp())

    def programs(self) -> dict[str, tuple[list[str], Path]]:
        """Name to command words after ``python`` and the folder to run in."""
        found = {"unet3d": ([str(UNET), "--epochs", "3"], ROOT)}
        if self.nanogpt is not None:
            data = self.nanogpt / "data" / "made_up"
            if not data.exists():
                data.mkdir(parents=True)
                for name in ("train.bin", "val.bin"):
                    (data / name).write_bytes(os.urandom(2_000_000).translate(bytes([*range(128)] * 2)))
            found["nanogpt"] = ([str(self.nanogpt / "train.py"), *NANOGPT_ARGUMENTS], self.nanogpt)
        return found

    def capture(self, words: list[str], cwd: Path, *options: str) -> tuple[Path, str]:
        """Run ``python WORDS`` under a capture; its folder and the program's output."""
        before = set((find_root(cwd) / ".warplint").glob("*/run.json"))
        environment = os.environ | {"PYTHONPATH": str(self.truth_folder())}
        ran = subprocess.run(
            [sys.executable, "-m", "warplint", "run", *options, "--", sys.executable, *words],
            cwd=cwd,
            env=environment | {"PYTHONPATH": os.pathsep.join([*import_path(), environment["PYTHONPATH"]])},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{words} ended with {ran.returncode}: {ran.stderr[-2000:]}")
        (made,) = set((find_root(cwd) / ".warplint").glob("*/run.json")) - before
        return made.parent, ran.stdout

    def truth_folder(self) -> Path:
        """truth.py where a library would be, so that its frames are nobody's own code."""
        folder = self.scratch / "site-packages"
        folder.mkdir(exist_ok=True)
        shutil.copy(HERE / "truth.py", folder / "warplint_truth.py")
        return folder

    def agreement(self, program: str) -> dict[str, Any]:
        words, cwd = self.programs()[program]
        record = self.scratch / f"{program}.jsonl"
        result: dict[str, Any] = {}
        for kind in ("forward", "backward"):
            folder, _ = self.capture(["-m", "warplint_truth", kind, str(record), *words], cwd)
            arguments = [str(folder)] + ([str(record)] if kind == "backward" else [])
            result[kind] = json.loads(python([str(HERE / "agreement.py"), kind, *arguments]))
        folder, _ = self.capture(words, cwd)
        result["totals"] = show(folder)["totals"]
        result["unattributed_share"] = result["totals"]["unattributed_us"] / result["totals"]["wall_us"]
        result["notes"] = notes(folder)
        keep(folder, self.out / f"capture-{program}")
        return result

    def waits(self) -> dict[str, Any]:
        program = HERE / "programs" / "planted_waits.py"
        folder, output = self.capture([str(program), "80"], ROOT)
        planted = json.loads(output.splitlines()[-1])
        shown = show(folder)
        steps = shown["totals"]["steps"]
        lines = {line["line"]: line for line in shown["lines"] if line["file"].endswith(program.name)}
        result: dict[str, Any] = {"steps": steps}
        for name, each in planted.items():
            line = lines[each["line"]]
            cost_us = {
                "sleep": sum(line["idle_us"].values()),
                "synchronize": line["wait_us"],
                "copy": line["busy_us"] + sum(line["idle_us"].values()),
            }[name]
            truth_ms = statistics.median(each["seconds"]) * 1e3
            result[name] = {
                "planted_ms_a_step": truth_ms,
                "charged_ms_a_step": cost_us / steps / 1e3,
                "error": cost_us / steps / 1e3 / truth_ms - 1,
            }
        totals = shown["totals"]
        result["unattributed_share"] = totals["unattributed_us"] / totals["wall_us"]
        result["notes"] = notes(folder)
        return result

    def fix(self) -> dict[str, Any]:
        """Planted copies before and after the fixes, on a copy of the example in a project of its own."""
        project = self.scratch / "fix"
        project.mkdir()
        (project / "pyproject.toml").write_text("")
        script = project / "train.py"
        shutil.copy(UNET, script)
        result: dict[str, Any] = {}
        planted = [n for n, line in enumerate(script.read_text().splitlines(), 1) if "torch.arange(" in line]
        planted = [n for n in planted if ".to(x.device)" in script.read_text().splitlines()[n - 1]]
        for when in ("before", "after"):
            folder, _ = self.capture([str(script)], project)
            shown = show(folder)
            steps = shown["totals"]["steps"]
            lines = [line for line in shown["lines"] if line["line"] in planted]
            result[when] = {
                "copies_a_step": sum(line["copies"] for line in lines) / steps,
                "waits_a_step": sum(line["waits"] for line in lines) / steps,
                "all_copies_a_step": shown["totals"]["copies"] / steps,
                "step_ms": shown["totals"]["wall_us"] / steps / 1e3,
            }
            if when == "before":
                command = [sys.executable, "-m", "warplint", "check", "--fix", "--unsafe-fixes", str(script)]
                fixed = subprocess.run(command, env=child_environment(), capture_output=True, text=True)
                result["fix_output"] = fixed.stdout.splitlines()
                result["fixed_lines"] = [script.read_text().splitlines()[n - 1].strip() for n in planted]
        return result

    def price(self, program: str) -> dict[str, Any]:
        """Alternating runs with and without a capture."""
        words, cwd = self.programs()[program]
        walls: dict[str, list[float]] = {"with": [], "without": []}
        windows = []
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run([sys.executable, *words], cwd=cwd, check=True, capture_output=True)
            walls["without"].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            folder, _ = self.capture(words, cwd)
            walls["with"].append(time.perf_counter() - begin)
            windows.append(notes(folder))
        return {"wall_s": walls, "notes": windows}


def find_root(folder: Path) -> Path:
    for each in (folder, *folder.parents):
        if (each / "pyproject.toml").exists() or (each / ".git").exists():
            return each
    return folder


def import_path() -> list[str]:
    """Where this checkout's packages are, for a Python they are not installed in."""
    return [str(ROOT / name) for name in ("analyzers", "rules", "server")]


def child_environment() -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH", "")
    return os.environ | {"PYTHONPATH": os.pathsep.join([*import_path(), inherited])}


def python(words: list[str]) -> str:
    ran = subprocess.run(
        [sys.executable, *words], env=child_environment(), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(f"{words} ended with {ran.returncode}: {ran.stderr[-2000:]}")
    return ran.stdout


def show(folder: Path) -> Any:
    return json.loads(python(["-m", "warplint", "show", "--capture", str(folder), "--format", "json"]))


def notes(folder: Path) -> list[str]:
    """What ``warplint run`` tells about a capture: its price and its doubts."""
    code = "import sys; from pathlib import Path; from warplint.capture.summary import summarize\n"
    code += "print('\\n'.join(summarize(Path(sys.argv[1])).sentences))"
    return python(["-c", code, str(folder)]).splitlines()


def keep(folder: Path, to: Path) -> None:
    shutil.make_archive(str(to), "gztar", folder.parent, folder.name)


def machine() -> dict[str, str]:
    code = "import torch, platform; print(torch.__version__, platform.python_version(), "
    code += "torch.cuda.get_device_name(), sep='|')"
    torch_version, python_version, device = python(["-c", code]).strip().split("|")
    driver = re.search(
        r"Driver Version: ([\d.]+)", subprocess.run("nvidia-smi", capture_output=True, text=True).stdout
    )
    return {
        "torch": torch_version,
        "python": python_version,
        "device": device,
        "driver": driver[1] if driver else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--nanogpt", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(args.out, args.nanogpt and args.nanogpt.resolve())
    measurements: dict[str, Callable[[], dict[str, Any]]] = {"waits": bench.waits, "fix": bench.fix}
    for name in bench.programs():
        measurements[f"agreement-{name}"] = lambda name=name: bench.agreement(name)
        measurements[f"price-{name}"] = lambda name=name: bench.price(name)
    for name, measure in measurements.items():
        path = args.out / f"{name}.json"
        if path.exists() or (args.only and name not in args.only):
            continue
        begin = time.perf_counter()
        result = {"machine": machine(), "measured": measure()}
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(
            f"{name}: {time.perf_counter() - begin:.0f} s", json.dumps(result["measured"])[:1500], flush=True
        )


if __name__ == "__main__":
    main()
