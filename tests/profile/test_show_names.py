"""``warplint show --layers``, ``--kernels`` and ``--copies`` as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from building import MAIN, CaptureBuilder

SOURCE = "import torch\nfor step in range(2):\n    scale = [t.item() for t in parts]\n    net(x)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two steps of 10 ms: a layer with a kernel of 2 ms each, and five reads of four bytes."""
    builder = CaptureBuilder(SOURCE, steps=[0, 10_000, 20_000], window=(0, 20_000))
    builder.trace.header["deviceProperties"] = [{"id": 0, "name": "NVIDIA H200"}]
    builder.lines = {MAIN: []}
    builder.layers = [
        {"id": 2, "root": 1, "path": "Net", "class": "Net", "shape": "", "bias": False, "weights": ""}
        | {"file": "/app/train.py", "line": 1, "input": "64x1024", "dtype": "bf16", "varies": False},
        {"id": 3, "root": 1, "path": "encoder.0.linear1", "class": "Linear", "shape": "1024x2048"}
        | {"bias": True, "weights": "bf16", "file": "/lib/torch/linear.py", "line": 130}
        | {"input": "64x1024", "dtype": "bf16", "varies": False},
    ]
    builder.layer_calls = {MAIN: []}
    for start in (0, 10_000):
        builder.lines[MAIN] += [(start, 3), (start + 5_000, 4)]
        for read in range(5):
            at = start + 100 * read + 10
            builder.trace.call("cudaMemcpyAsync", at, at + 10, at)
            builder.trace.work("Memcpy DtoH (Device -> Pageable)", at + 10, at + 12, at, size=4)
            builder.trace.call("cudaStreamSynchronize", at + 10, at + 50, at + 1)
        calls = [(start + 6_000, 2), (start + 6_100, 3), (start + 6_300, 0), (start + 6_500, 0)]
        builder.layer_calls[MAIN] += calls
        name = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"
        builder.trace.kernel(start + 6_200, start + 6_400, start + 8_400, start + 2, name=name)
    (tmp_path / "pyproject.toml").write_text("")
    builder.write(tmp_path / ".warplint" / "20260101T000000Z-train")
    return tmp_path


def show(project: Path, *words: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "warplint", "show", *words],
        cwd=project,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "160"},
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def rows(text: str) -> list[list[str]]:
    """Cells, which two blanks part."""
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]


def test_layers(project: Path) -> None:
    head, linear, net = rows(show(project, "--layers"))
    assert head == ["time", "fwd ms", "CPU ms", "launches", "calls", "layer", "what it is", "forward"]
    named = ["encoder.0.linear1", "Linear[1024x2048] bias batch=64 bf16"]
    assert linear == ["20%", "2.00", "0.20", "1", "1", *named]
    # Torch's own code needs no address.
    assert net == ["0.30", "1", "Net", "Net batch=64 bf16", "train.py:1"]


def test_kernels(project: Path) -> None:
    head, gemm = rows(show(project, "--kernels"))
    assert head == ["GPU ms", "runs", "mean µs", "p10–p90 µs", "a second", "behaviour", "dtype", "kernel"]
    figures = ["2.00", "1", "2,000", "2,000–2,000", "100"]
    assert gemm == [*figures, "few long", "bf16", "ampere_bf16_s16816gemm_bf16…"]


def test_copies(project: Path) -> None:
    head, reads = rows(show(project, "--copies"))
    assert head == ["a step", "bytes each", "GPU ms", "wait ms", "way", "memory", "line", "source"]
    place = ["train.py:3", "scale = [t.item() for t in parts]"]
    assert reads == ["5", "4", "0.01", "0.20", "DtoH", "pageable", *place]


def test_the_lines_lead_to_them(project: Path, tmp_path: Path) -> None:
    assert "note: 1 line makes many copies of few bytes: see warplint show --copies" in show(project)
    builder = CaptureBuilder(SOURCE, steps=[0, 300, 600, 900], window=(0, 1000))
    builder.lines = {MAIN: [(0, 4)]}
    for step, length in enumerate((100, 40, 10)):
        start = 300 * step
        builder.trace.kernel(start + 40, start + 50, start + 50 + length, step + 1, name="k")
    other = tmp_path / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("")
    builder.write(other / ".warplint" / "20260101T000000Z-train")
    text = " ".join(show(other).split())
    assert "1 group of kernels takes changing time for the same work: see warplint show --kernels" in text
    assert "copies of few bytes" not in text


def test_top_says_how_many_are_left(project: Path) -> None:
    assert show(project, "--layers", "--top", "1").splitlines()[-1] == "… 1 more layer: --top 2 lists all"


def test_a_table_is_neither_json_nor_of_a_file(project: Path) -> None:
    assert "--format json" in show(project, "--layers", "--format", "json", status=2)
    assert "leave out train.py" in show(project, "train.py", "--kernels", status=2)
    assert "not allowed with" in show(project, "--layers", "--kernels", status=2)


def test_nothing_to_show_is_said(tmp_path: Path) -> None:
    builder = CaptureBuilder(SOURCE, steps=[0, 10], window=(0, 10))
    (tmp_path / "pyproject.toml").write_text("")
    builder.write(tmp_path / ".warplint" / "20260101T000000Z-train")
    assert "module calls could not be followed" in show(tmp_path, "--layers")
    assert "no kernel ran" in show(tmp_path, "--kernels")
    assert "no line made" in show(tmp_path, "--copies")
