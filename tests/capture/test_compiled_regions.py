"""What a capture records of torch.compile: the lines of each kernel, graph breaks and recompilations."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from programs import QUICKLY, make_project, run, run_plainly

from warplint.capture.layout import RawReader, Record, parse_json, parse_source

PYTHON = sys.executable

COMPILED = """\
import torch

torch.manual_seed(0)
weight = torch.nn.Parameter(torch.randn(16, 16))
optimizer = torch.optim.SGD([weight], lr=0.01)


@torch.compile
def layer(x):
    hidden = x @ weight
    hidden = hidden.sin()
    return (
        hidden * 1.5
        + hidden.cos()
    )


@torch.compile
def twin(x):
    once = x.exp()
    return once.tanh()


@torch.compile
def other(x):
    twice = x.exp()

    return twice.tanh()


@torch.compile(backend="eager")
def broken(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


losses = []
for step in range(7):
    x = torch.ones(4, 16)
    x = twin(x) + other(x)
    loss = layer(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
for rows in (3, 3, 5):
    broken(torch.ones(rows))
print(losses)
"""
LAYER, TWIN, OTHER, BROKEN = (COMPILED.split("\n").index(f"def {name}(x):") + 1 for name in (
    "layer", "twin", "other", "broken"
))  # fmt: skip
EDITED = "# a line more\n" + COMPILED

Kernels = list[tuple[str, list[int]]]


@dataclass
class Compilation:
    """What one run's raw file says of compilation; lines are of train.py."""

    graphs: list[Kernels]
    events: dict[str, Any]
    notes: list[str]
    stdout: bytes

    @classmethod
    def read(cls, folder: Path, stdout: bytes) -> Compilation:
        (path,) = folder.glob("*.wlraw")
        found, names = cls([], {}, [], stdout), {}
        for record, payload in RawReader(path).records():
            if record is Record.SOURCE:
                source = parse_source(payload)
                names[source.identifier] = Path(source.path).name
            elif record is Record.COMPILED_GRAPH:
                kernels = parse_json(payload)["kernels"]
                assert {names[source] for _, lines in kernels for source, _ in lines} <= {"train.py"}
                found.graphs.append([(name, sorted(line for _, line in lines)) for name, lines in kernels])
            elif record is Record.COMPILATION:
                found.events = parse_json(payload)
            elif record is Record.NOTE:
                found.notes.append(parse_json(payload)["code"])
        return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Compilation]]:
    """The program, and the program edited, with the cache that a run without Warplint has filled before."""
    folder = tmp_path_factory.mktemp("compiled")
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    root = make_project(folder / "project", train=COMPILED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", environment["TORCHINDUCTOR_CACHE_DIR"])
        plain = run_plainly(root, PYTHON, "train.py")
    assert plain.returncode == 0
    found = []
    for text in (COMPILED, EDITED):
        (root / "train.py").write_text(text, encoding="utf-8")
        done = run(root, *QUICKLY, "train.py", environment=environment)
        assert (done.returncode, unstamped(done.stderr)) == (0, unstamped(plain.stderr))
        found.append(Compilation.read(done.captures[-1], done.stdout))
    yield [*found, Compilation([], {}, [], plain.stdout)]


def unstamped(log: bytes) -> list[bytes]:
    """The lines of torch's log without time and process."""
    return [re.sub(rb"^([A-Z])\d{4} \S+ \d+ ", rb"\1 ", line) for line in log.splitlines()]


def lines_by_kernel(graphs: list[Kernels], contains: str) -> list[list[int]]:
    return [lines for graph in graphs for name, lines in graph if contains in name]


def test_a_programs_results_stay_the_same(runs: list[Compilation]) -> None:
    captured, edited, plain = runs
    assert captured.stdout == edited.stdout == plain.stdout


def test_kernels_of_a_forward_graph_name_their_lines(runs: list[Compilation]) -> None:
    forward = next(graph for graph in runs[0].graphs if any("cos" in name for name, _ in graph))
    assert forward[0] == ("extern_kernels.mm", [LAYER + 1])
    ((name, lines),) = forward[1:]
    assert name.startswith("cpp_fused")
    assert set(lines) == {LAYER + 2, LAYER + 4, LAYER + 5}


def test_kernels_of_a_backward_graph_name_forward_lines(runs: list[Compilation]) -> None:
    backward = [graph for graph in runs[0].graphs if graph[-1][0] == "extern_kernels.mm"]
    assert backward, "the gradient of the weight is a product"
    for graph in backward:
        assert graph[-1][1] == [LAYER + 1]
        assert {line for _, lines in graph[:-1] for line in lines} == {LAYER + 2, LAYER + 4, LAYER + 5}


def test_functions_of_the_same_operators_are_told_apart(runs: list[Compilation]) -> None:
    """Torch's cache would give one the graph of the other, lines and all."""
    found = lines_by_kernel(runs[0].graphs, "tanh")
    assert sorted(map(tuple, found)) == [(TWIN + 1, TWIN + 2), (OTHER + 1, OTHER + 3)]


def test_lines_follow_an_edit_though_torch_has_the_graphs_cached(runs: list[Compilation]) -> None:
    before, after = runs[:2]
    moved = [[(name, [line + 1 for line in lines]) for name, lines in graph] for graph in before.graphs]
    assert after.graphs == moved


def test_graph_breaks_have_line_and_reason(runs: list[Compilation]) -> None:
    (found,) = runs[0].events["graph_breaks"]
    assert (Path(found["file"]).name, found["line"]) == ("train.py", BROKEN + 2)
    assert found["count"] == 2, "compiled for three rows, and once more for five"
    assert "graph_break" in found["reason"]


def test_recompilations_have_the_guard_that_failed(runs: list[Compilation]) -> None:
    """The function is compiled once more for another number of rows, and so is its part after the break."""
    found = runs[0].events["recompilations"]
    assert [(each["line"], each["count"]) for each in found] == [(BROKEN - 1, 1), (BROKEN + 2, 1)]
    assert all("expected 3, actual 5" in each["reason"] for each in found)


def test_nothing_is_lost_without_a_word(runs: list[Compilation]) -> None:
    said = "compiled-lines" in runs[0].notes + runs[1].notes
    # Torch keeps lines of compiled kernels from 2.9 on.
    assert said is (tuple(map(int, torch.__version__.split(".")[:2])) < (2, 9))


def test_a_program_that_compiles_nothing_loads_nothing_for_it(tmp_path: Path) -> None:
    text = """
    import sys, torch
    model = torch.nn.Linear(2, 2)
    model(torch.ones(1, 2))
    print([name for name in sys.modules if name.startswith(("torch._inductor", "torch._dynamo"))])
    """
    root = make_project(tmp_path / "project", train=text)
    plain, captured = run_plainly(root, PYTHON, "train.py"), run(root, "train.py")
    assert (captured.stdout, captured.stderr) == (plain.stdout, b"")


def test_a_torch_that_says_nothing_of_the_compilation_can_call_back(tmp_path: Path) -> None:
    text = """
    import torch
    from torch._dynamo.callback import callback_handler
    for start in callback_handler.start_callbacks:
        # As torch 2.4 does.
        print(len(callback_handler.start_callbacks), start())
    """
    done = run(make_project(tmp_path / "project", train=text), "train.py")
    assert (done.returncode, done.stdout) == (0, b"1 None\n")


def test_what_the_user_asks_inductor_for_is_left_alone(tmp_path: Path) -> None:
    text = """
    import torch
    from torch._inductor import config
    print(config.trace.provenance_tracking_level, config._cache_config_ignore_prefix[0])
    """
    root = make_project(tmp_path / "project", train=text)
    asked = run(root, "train.py", environment={"INDUCTOR_PROVENANCE": "1"})
    assert asked.stdout == b"1 trace\n"
