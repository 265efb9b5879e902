"""What the editor benchmark opens and types: the example program, again and again under other names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from warplint.capture.layout import CAPTURES_DIRECTORY, MANIFEST, STORE, RunManifest
from warplint.profile.database import write_database
from warplint.profile.model import CapturedSource, IdleCause, KernelCost, LineCost, Profile, Totals
from warplint.source.text import SourceText

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "unet3d" / "train.py"
DEFINED = re.compile(r"^(?:class|def) (\w+)", re.MULTILINE)
ENTRY = 'if __name__ == "__main__":'
FIRST_DEFINITION = "def write_volumes"

ALL_OF_RUFF = '[tool.ruff.lint]\nselect = ["ALL"]\n'
LARGE_BYTES = 300_000
LINES = {"thousand.py": 1_000, "ten_thousand.py": 10_000}
"""Files, and how many lines they have at least."""
OPEN_FILES = 50
CAPTURED_FILES = 200
CAPTURED_LINES = 20_000
LARGE_FILE_LINES = 3_000
"""Measured lines of the large file, beside those of the captured ones."""

TYPED_ABOVE = "            running += loss.item()\n"
TYPED = """\
            total = running + loss.detach().mean()
            if epoch % 100 == 0:
                print(f"{total.item():.3f}", volume.shape)
            seen = torch.arange(4)
"""
"""Typed in the training loop, letter by letter: most of what stands there meanwhile does not parse."""


def typing_place(text: str) -> tuple[int, int]:
    """Line and column, from 0, where ``TYPED`` goes: above the end of a training loop past the middle."""
    return text.count("\n", 0, text.index(TYPED_ABOVE, len(text) // 2)), 0


def renamed(number: int) -> str:
    """The example with a number behind each name that it defines at its top."""
    text = EXAMPLE.read_text(encoding="utf-8")
    names = "|".join(DEFINED.findall(text))
    return re.sub(rf"\b({names})\b", rf"\1_{number}", text)


def repeated(is_enough: Callable[[str], bool]) -> str:
    """A program that is large enough: the imports once, then copies of everything else."""
    head, _, _ = renamed(0).partition(FIRST_DEFINITION)
    text = head
    number = 0
    while not is_enough(text):
        text += FIRST_DEFINITION + renamed(number).partition(ENTRY)[0].partition(FIRST_DEFINITION)[2]
        number += 1
    return text


def write_project(folder: Path) -> None:
    """A project with the example, the large program, and as many files as are opened or captured."""
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(ALL_OF_RUFF)
    (folder / "small.py").write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    large = repeated(lambda text: len(text) >= LARGE_BYTES)
    (folder / "large.py").write_text(large, encoding="utf-8")
    for name, lines in LINES.items():
        text = repeated(lambda text, lines=lines: text.count("\n") >= lines)  # type: ignore[misc]
        (folder / name).write_text(text, encoding="utf-8")
    for number in range(max(OPEN_FILES, CAPTURED_FILES)):
        (folder / f"train_{number}.py").write_text(renamed(number), encoding="utf-8")


def write_capture(folder: Path, name: str) -> None:
    """A finished capture of the project, as the profile's own writer leaves one."""
    lines_each = {f"train_{number}.py": CAPTURED_LINES // CAPTURED_FILES for number in range(CAPTURED_FILES)}
    lines_each["large.py"] = LARGE_FILE_LINES
    sources, costs = {}, []
    for file, lines in lines_each.items():
        source = SourceText.read(folder / file)
        sources[file] = CapturedSource(file, source.digest, source.text)
        costs += [_cost(file, line) for line in _code_lines(source)[:lines]]
    shares = sum(range(1, len(costs) + 1))
    for number, cost in enumerate(costs):
        cost.share = (len(costs) - number) / shares
    profile = Profile(
        name,
        ["python", "large.py"],
        Totals(wall_us=1e6, gpu_busy_us=6e5, gpu_idle_us=4e5, steps=10, device="NVIDIA H200"),
        costs,
        sources,
    )
    capture = folder / CAPTURES_DIRECTORY / name
    capture.mkdir(parents=True)
    manifest = RunManifest(
        command=profile.command,
        cwd=str(folder),
        root=str(folder),
        started=1.0,
        warplint="bench",
        finished=2.0,
    )
    manifest.write(capture)
    written = (capture / MANIFEST).read_bytes()
    (capture / MANIFEST).unlink()
    write_database(capture / STORE, profile, {MANIFEST: len(written)})
    # The manifest comes last, as in a run: it says that the capture is whole.
    manifest.write(capture)


def _code_lines(source: SourceText) -> list[int]:
    return [number for number, line in enumerate(source.lines(), 1) if line.strip()]


def _cost(file: str, line: int) -> LineCost:
    return LineCost(
        file,
        line,
        busy_us=30.0,
        gpu_forward_us=10.0,
        gpu_backward_us=20.0,
        launches=40,
        waits=10,
        wait_us=20.0,
        idle_us={IdleCause.SYNC: 15.0, IdleCause.LAUNCH: 5.0},
        cpu_us=50.0,
        kernels=[KernelCost("elementwise_kernel", 20.0, 30), KernelCost("gemm", 10.0, 10)],
    )
