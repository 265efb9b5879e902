"""Everything Warplint claims about GPUs, measured again on the machine this runs on.

    python bench/gpu/record.py OUT [--only NAME …] [--nanogpt FOLDER] [--list]

Writes one JSON file per measurement to OUT and skips those that are there, so it can be stopped and taken up
again; each takes less than eight minutes. ``--nanogpt`` is a checkout of the public nanoGPT program, which
then runs on made-up data. Needs a CUDA GPU, and torch and libcst in the Python that runs this.

agreement-*   launches whose line agrees with an independent record (truth.py), forward and backward
price-*       steps before, inside and after a window and over the run, against runs without; bytes; reading
faults-*      a planted fault's cost, as the program measures it uncaptured, against what its line is charged
peers-*       torch.profiler with stacks and Scalene on the same programs, each in a process of its own
waits         planted waits of 20 ms (sleep, synchronize, copy) against the program's own clock
fix           the example's planted copies before and after ``warplint check --fix --unsafe-fixes``
light         the light tier on a launch-bound program
cupti         what a launch-bound program pays for a tracer that stays attached after a window
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from running import (
    HERE,
    PROGRAMS,
    ROOT,
    Ran,
    capture,
    child_environment,
    keep,
    machine,
    notes,
    python,
    run,
    show,
    size_bytes,
    truth_folder,
)

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
STEPS = {
    "launch_bound": 400,
    "gpu_bound": 150,
    "compiled": 600,
    "cuda_graph": 2000,
    "data_starved": 120,
    "many_threads": 600,
}
"""Program to so many steps as take about five seconds on an H200."""
FEW_STEPS = 45
"""For the independent records, which slow a program down."""
EAGER = ("launch_bound", "gpu_bound", "data_starved", "many_threads")
"""Programs whose every launch an independent record can name the line of."""
FAULTS = ("decode", "wait", "tiny", "copy")
ROUNDS = 2
FAULT_ROUNDS = 3
FAULT_WINDOW = ("--after", "122", "--steps", "20", "--budget", "0")
"""Where faults.py leaves room for it."""
LONG_RUN_S = 300.0
"""The run that the price is promised for: five minutes."""


class Bench:
    """One session of measurements."""

    def __init__(self, out: Path, nanogpt: Path | None) -> None:
        self.out, self.nanogpt = out, nanogpt
        self.scratch = Path(tempfile.mkdtemp())

    def words(self, program: str, steps: int | None = None) -> tuple[list[str], Path]:
        """Command words after ``python``, and the folder to run in."""
        if program == "unet3d":
            return [str(UNET), "--epochs", "3"], ROOT
        if program == "nanogpt":
            return self._nanogpt()
        return [str(PROGRAMS / f"{program}.py"), str(steps or STEPS[program])], ROOT

    def _nanogpt(self) -> tuple[list[str], Path]:
        assert self.nanogpt is not None
        data = self.nanogpt / "data" / "made_up"
        if not data.exists():
            data.mkdir(parents=True)
            for name in ("train.bin", "val.bin"):
                (data / name).write_bytes(os.urandom(2_000_000).translate(bytes([*range(128)] * 2)))
        return [str(self.nanogpt / "train.py"), *NANOGPT_ARGUMENTS], self.nanogpt

    def agreement(self, program: str) -> dict[str, Any]:
        """Three runs side by side: no time is taken here."""
        words, cwd = self.words(program, FEW_STEPS)
        record = self.scratch / f"{program}.jsonl"
        library = truth_folder(self.scratch)
        with ThreadPoolExecutor() as pool:
            truths = {
                kind: pool.submit(
                    capture, ["-m", "warplint_truth", kind, str(record), *words], cwd, extra_path=library
                )
                for kind in ("forward", "backward")
            }
            plain = pool.submit(capture, words, cwd)
        result: dict[str, Any] = {}
        for kind, truth in truths.items():
            arguments = [str(truth.result()[0])] + ([str(record)] if kind == "backward" else [])
            result[kind] = json.loads(python([str(HERE / "agreement.py"), kind, *arguments]))
        folder, _ = plain.result()
        result["totals"] = show(folder)["totals"]
        result["unattributed_share"] = result["totals"]["unattributed_us"] / result["totals"]["wall_us"]
        result["notes"] = notes(folder)
        keep(folder, self.out / f"capture-{program}")
        return result

    def agreement_compiled(self) -> dict[str, Any]:
        words, cwd = self.words("compiled", FEW_STEPS)
        folder, _ = capture(words, cwd)
        found: dict[str, Any] = json.loads(
            python([str(HERE / "kernel_lines.py"), "compiled", str(folder), words[0]])
        )
        keep(folder, self.out / "capture-compiled")
        return found | {"totals": show(folder)["totals"], "notes": notes(folder)}

    def agreement_graph(self) -> dict[str, Any]:
        words, cwd = self.words("cuda_graph", FEW_STEPS)
        with ThreadPoolExecutor() as pool:
            graph, eager = pool.submit(capture, words, cwd), pool.submit(capture, [*words, "eager"], cwd)
        folder, _ = graph.result()
        paths = [str(folder), str(eager.result()[0]), words[0]]
        found: dict[str, Any] = json.loads(python([str(HERE / "kernel_lines.py"), "graph", *paths]))
        keep(folder, self.out / "capture-cuda_graph")
        return found | {"totals": show(folder)["totals"], "notes": notes(folder)}

    def price(self, program: str) -> dict[str, Any]:
        """Alternating runs without and with a capture."""
        words, cwd = self.words(program)
        without: list[Ran] = []
        captured: list[Ran] = []
        folders: list[Path] = []
        for _ in range(ROUNDS):
            without.append(run([sys.executable, *words], cwd))
            folder, ran = capture(words, cwd)
            captured.append(ran)
            folders.append(folder)
        capture_bytes = size_bytes(folders[-1])
        (folders[-1] / "costs.sqlite").unlink(missing_ok=True)
        reading_s = []
        for _ in range(2):
            begin = time.perf_counter()
            show(folders[-1])
            reading_s.append(time.perf_counter() - begin)
        extra_s = [with_it.wall_s - bare.wall_s for with_it, bare in zip(captured, without, strict=True)]
        return {
            "steps": STEPS[program],
            "settled_step_ms": {
                "without": [each.settled_step_ms for each in without],
                "with": [each.settled_step_ms for each in captured],
            },
            "loop_s": {
                "without": [each.loop_s for each in without],
                "with": [each.loop_s for each in captured],
            },
            "extra_wall_s": extra_s,
            "share_of_five_minutes": statistics.median(extra_s) / LONG_RUN_S,
            "windows": [show(folder)["windows"] for folder in folders],
            "capture_bytes": capture_bytes,
            "first_read_s": reading_s[0],
            "second_read_s": reading_s[1],
        }

    def faults(self, fault: str) -> dict[str, Any]:
        runs = [self._fault(fault) for _ in range(FAULT_ROUNDS)]
        return {"error": statistics.median(each["error"] for each in runs), "runs": runs}

    def _fault(self, fault: str) -> dict[str, Any]:
        program = PROGRAMS / "faults.py"
        folder, ran = capture([str(program), fault], ROOT, *FAULT_WINDOW)
        shown = show(folder)
        steps = shown["totals"]["steps"]
        costs = {each["line"]: each for each in shown["lines"] if each["file"].endswith(program.name)}
        planted_ms, line = ran.said["cost_s"] * 1e3, ran.said["line"]
        charged_ms = fault_cost_us(fault, costs, line) / steps / 1e3
        return {
            "planted_line": line,
            "planted_ms_a_step": planted_ms,
            "charged_ms_a_step": charged_ms,
            "error": charged_ms / planted_ms - 1,
            "charged_line": max(costs.values(), key=lambda cost: cost["share"])["line"],
            "line": {name: value for name, value in costs[line].items() if name != "kernels"},
            "loader": (shown.get("loader") or [None])[0],
            "notes": notes(folder),
        }

    def peers(self, program: str) -> dict[str, Any]:
        words, cwd = self.words(program)
        path = Path(words[0])
        library = truth_folder(self.scratch)
        shutil.copy(HERE / "stack_profiler.py", library / "warplint_stacks.py")
        environment = child_environment()
        environment["PYTHONPATH"] += os.pathsep + str(library)
        bare = run([sys.executable, *words], cwd, environment)
        result: dict[str, Any] = {"without": {"settled_step_ms": bare.settled_step_ms, "wall_s": bare.wall_s}}
        for name, measure in (("torch.profiler", self._stacks), ("scalene", self._scalene)):
            result[name] = or_failure(partial(measure, program, path, words, cwd, environment))
        return result

    def _stacks(
        self, program: str, path: Path, words: list[str], cwd: Path, environment: dict[str, str]
    ) -> dict[str, Any]:
        trace = self.scratch / f"{program}.stacks.json"
        plain = run([sys.executable, "-m", "warplint_stacks", str(trace), *words], cwd, environment)
        ends = plain.said["ends_s"]
        inside = [after - before for before, after in pairwise(ends[20:29])]
        found = {
            "step_inside_ms": statistics.median(inside) * 1e3,
            "settled_step_ms": plain.settled_step_ms,
            "wall_s": plain.wall_s,
            "trace_bytes": trace.stat().st_size,
        }
        if program in EAGER:
            few, _ = self.words(program, FEW_STEPS)
            run([sys.executable, "-m", "warplint_stacks", str(trace), "truth", *few], cwd, environment)
            found |= json.loads(python([str(HERE / "peers.py"), "stacks", str(trace), str(path)]))
        return found

    def _scalene(
        self, program: str, path: Path, words: list[str], cwd: Path, environment: dict[str, str]
    ) -> dict[str, Any]:
        report = self.scratch / f"{program}.scalene.json"
        command = [sys.executable, "-m", "scalene", "run", "-o", str(report), words[0], "---", *words[1:]]
        ran = run(command, cwd, environment)
        folder, _ = capture(words, cwd)
        ours_us = {
            line["line"]: line["busy_us"]
            for line in show(folder)["lines"]
            if line["file"].endswith(path.name) and line["busy_us"]
        }
        theirs = json.loads(python([str(HERE / "peers.py"), "scalene", str(report), str(path)]))
        return {
            "wall_s": ran.wall_s,
            "settled_step_ms": ran.settled_step_ms if ran.said else None,
            "gpu_time_on_the_same_lines_as_ours": overlap(
                ours_us, {int(line): share for line, share in theirs.items()}
            ),
        }

    def waits(self) -> dict[str, Any]:
        program = PROGRAMS / "planted_waits.py"
        folder, ran = capture([str(program), "80"], ROOT)
        shown = show(folder)
        steps = shown["totals"]["steps"]
        lines = {line["line"]: line for line in shown["lines"] if line["file"].endswith(program.name)}
        result: dict[str, Any] = {"steps": steps}
        for name, each in ran.said.items():
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
            folder, _ = capture([str(script)], project)
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

    def light(self) -> dict[str, Any]:
        """The light tier on a launch-bound program: its price, and whether its lines are a full one's."""
        words, cwd = self.words("launch_bound")
        found: dict[str, Any] = {}
        busy_us: dict[str, dict[int, float]] = {}
        for tier, options in (("full", ()), ("light", ("--light",))):
            folder, _ = capture(words, cwd, *options)
            shown = show(folder)
            # A light trace does not know the optimizer's phase from the rest.
            busy_us[tier] = {
                line["line"]: line["gpu_forward_us"] + line["gpu_optimizer_us"] for line in shown["lines"]
            }
            found[tier] = {"windows": shown["windows"], "bytes": size_bytes(folder)}
        found["time_but_backward_on_the_same_lines"] = overlap(busy_us["full"], busy_us["light"])
        return found

    def cupti(self) -> dict[str, Any]:
        """The same program captured with the tracer let go of and, as torch does by itself, kept."""
        words, cwd = self.words("launch_bound")
        kept = child_environment() | {"TEARDOWN_CUPTI": "0"}
        found: dict[str, list[float]] = {"without_capture": [], "let_go": [], "kept": []}
        command = [sys.executable, "-m", "warplint", "run", "--", sys.executable, *words]
        for _ in range(ROUNDS):
            found["without_capture"].append(run([sys.executable, *words], cwd).settled_step_ms)
            found["let_go"].append(run(command, cwd).settled_step_ms)
            found["kept"].append(run(command, cwd, kept).settled_step_ms)
        return {"settled_step_ms": found}


def overlap(ours_us: dict[int, float], theirs: dict[int, float]) -> float | None:
    """How much of the GPU's time stands on the same lines: the sum of the smaller of both shares."""
    ours_whole, theirs_whole = sum(ours_us.values()), sum(theirs.values())
    if not ours_whole or not theirs_whole:
        return None
    lines = ours_us.keys() & theirs.keys()
    return sum(min(ours_us[line] / ours_whole, theirs[line] / theirs_whole) for line in lines)


def or_failure(measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A peer that does not run here is a result too."""
    try:
        return measure()
    except (RuntimeError, OSError, KeyError, ValueError) as error:
        return {"failed": f"{type(error).__name__}: {error}"[-500:]}


def fault_cost_us(fault: str, costs: dict[int, Any], line: int) -> float:
    """What the capture says the fault costs, where a user would look for it."""
    if fault == "decode":
        # The step waits on the line that asks the loader; the worker's line stands in `loader`.
        return float(sum(cost["idle_us"].get("data", 0.0) for cost in costs.values()))
    cost = costs[line]
    if fault == "wait":
        return float(cost["wait_us"])
    idle_us = sum(us for cause, us in cost["idle_us"].items() if cause != "capture")
    return float(cost["busy_us"] + idle_us)


def measurements(bench: Bench) -> dict[str, Callable[[], dict[str, Any]]]:
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for program in ("unet3d", *(["nanogpt"] if bench.nanogpt else []), *EAGER):
        found[f"agreement-{program}"] = partial(bench.agreement, program)
    found["agreement-compiled"] = bench.agreement_compiled
    found["agreement-cuda_graph"] = bench.agreement_graph
    for program in STEPS:
        found[f"price-{program}"] = partial(bench.price, program)
    for fault in FAULTS:
        found[f"faults-{fault}"] = partial(bench.faults, fault)
    for program in STEPS:
        found[f"peers-{program}"] = partial(bench.peers, program)
    return found | {"waits": bench.waits, "fix": bench.fix, "light": bench.light, "cupti": bench.cupti}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", help="names, or beginnings of names")
    parser.add_argument("--nanogpt", type=Path)
    parser.add_argument("--list", action="store_true", help="name the measurements")
    args = parser.parse_args()
    bench = Bench(args.out, args.nanogpt and args.nanogpt.resolve())
    if args.list:
        print("\n".join(measurements(bench)))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    described = machine()
    for name, measure in measurements(bench).items():
        path = args.out / f"{name}.json"
        if path.exists() or (args.only and not name.startswith(tuple(args.only))):
            continue
        begin = time.perf_counter()
        print(f"{name} …", flush=True)
        result: dict[str, Any] = {"machine": described, "measured": or_failure(measure)}
        if "failed" in result["measured"]:
            print(f"{name}: {result['measured']['failed']}", flush=True)
            continue
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(
            f"{name}: {time.perf_counter() - begin:.0f} s", json.dumps(result["measured"])[:1500], flush=True
        )


if __name__ == "__main__":
    main()
