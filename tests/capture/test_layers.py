"""Layers are named by what they are, and every call of them is noted, whatever else calls do."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest
from programs import ON_MONITORING, OPTIMIZER, QUICKLY, Process, make_project, run

MODEL = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(8, 16)
        self.linear2 = nn.Linear(16, 8, bias=False)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(x + self.linear2(torch.relu(self.linear1(x))))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50, 8)
        self.encoder = nn.ModuleList(Block() for _ in range(2))
        self.image = nn.Conv2d(4, 8, (3, 5), stride=2, groups=2)
        self.recurrent = nn.LSTM(8, 12, num_layers=2)
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, ids, picture):
        x = self.tokens(ids)
        for block in self.encoder:
            x = block(x)
        x, _ = self.attention(x, x, x)
        return self.recurrent(x)[0], self.image(picture)
"""

TRAINING = (
    MODEL
    + """
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, picture = net(torch.zeros(4, 6, dtype=torch.long), torch.randn(2, 4, 9, 9))
        loss = nn.MSELoss()(out.float(), torch.zeros(4, 6, 12)) + picture.float().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)

NAMES = {
    "Net": ("Net", "", False, "", "4x6", None),
    "tokens": ("Embedding", "50x8", False, "fp32", "4x6", "fp32"),
    "encoder.0": ("Block", "", False, "", "4x6x8", "fp32"),
    "encoder.0.linear1": ("Linear", "8x16", True, "fp32", "4x6x8", "bf16"),
    "encoder.0.linear2": ("Linear", "16x8", False, "fp32", "4x6x16", "bf16"),
    "encoder.0.norm": ("LayerNorm", "8", True, "fp32", "4x6x8", "fp32"),
    "encoder.1": ("Block", "", False, "", "4x6x8", "fp32"),
    "encoder.1.linear1": ("Linear", "8x16", True, "fp32", "4x6x8", "bf16"),
    "encoder.1.linear2": ("Linear", "16x8", False, "fp32", "4x6x16", "bf16"),
    "encoder.1.norm": ("LayerNorm", "8", True, "fp32", "4x6x8", "fp32"),
    "image": ("Conv2d", "4x8 3x5 stride 2x2 groups 2", True, "fp32", "2x4x9x9", "bf16"),
    "recurrent": ("LSTM", "8x12 layers 2", False, "fp32", "4x6x8", None),
    "attention": ("MultiheadAttention", "8 heads 2", True, "fp32", "4x6x8", "bf16"),
    "MSELoss": ("MSELoss", "", False, "", "4x6x12", "fp32"),
}
"""Path to class, shape, bias, weights, input and dtype; None where autocast's choice is torch's own
affair."""


def layers(process: Process) -> dict[str, dict[str, Any]]:
    """By path. Nothing may be recorded twice under two numbers."""
    assert len({layer["path"] for layer in process.layers.values()}) == len(process.layers)
    return {layer["path"]: layer for layer in process.layers.values()}


def stacks(process: Process) -> list[tuple[str, ...]]:
    """The paths of the calls round each call, itself the last, on all threads."""
    found = []
    for events in process.layer_calls.values():
        stack: list[str] = []
        for layer in events[1::2]:
            if layer:
                stack.append(process.layers[layer]["path"] if layer in process.layers else "?")
                found.append(tuple(stack))
            else:
                stack.pop()
        assert stack == []
    return found


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Process:
    root = make_project(tmp_path_factory.mktemp("layers") / "project", train=TRAINING)
    done = run(root, *QUICKLY, "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    return done.process


@pytest.mark.parametrize("path", NAMES)
def test_a_layer_is_named_by_what_it_is(path: str, training: Process) -> None:
    layer = layers(training)[path]
    *expected, dtype = NAMES[path]
    keys = ("class", "shape", "bias", "weights", "input")
    assert [layer[key] for key in keys] == expected
    assert dtype is None or layer["dtype"] == dtype
    assert not layer["varies"]


def test_losses_made_in_each_step_are_one_layer(training: Process) -> None:
    assert set(NAMES) <= set(layers(training))
    assert sum(layer["class"] == "MSELoss" for layer in training.layers.values()) == 1


def test_forward_stands_where_it_is_defined(training: Process) -> None:
    lines = TRAINING.splitlines()
    block = layers(training)["encoder.0"]
    assert Path(block["file"]).name == "train.py"
    assert lines[block["line"] - 1].strip() == "def forward(self, x):"
    assert Path(layers(training)["image"]["file"]).name == "conv.py"


def test_every_call_of_the_window_is_noted_within_its_caller(training: Process) -> None:
    found = stacks(training)
    # A lead-in step and two whole ones.
    for stack in [("Net",), ("Net", "encoder.1"), ("Net", "encoder.1", "encoder.1.linear2"), ("MSELoss",)]:
        assert found.count(stack) == 3
    assert {stack[0] for stack in found} == {"Net", "MSELoss"}


INFERENCE = (
    MODEL
    + """
class Refusing(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        self.inner(x)
        raise KeyError("no")

net, refusing = Block(), Refusing()
with torch.no_grad():
    for step in range(8):
        net(torch.randn(4 if step < 4 else 5, 8))
        try:
            refusing(torch.randn(3, 8))
        except KeyError:
            pass
"""
)


def test_calls_that_count_as_steps_and_calls_that_raise_are_noted_too(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", infer=INFERENCE)
    done = run(root, "--after", "2", "--steps", "3", "infer.py")
    assert (done.returncode, done.stderr) == (0, b"")
    process = done.process
    if not ON_MONITORING:
        # Steps of inference are counted from Python 3.12 on.
        assert not process.steps
        return
    assert len(process.steps) == 8
    found = stacks(process)
    # What is called after step 2 has returned, to the end of step 6.
    assert found.count(("Block", "norm")) == found.count(("Block",)) == 4
    assert found.count(("Refusing", "inner")) == found.count(("Refusing",)) == 4
    assert layers(process)["inner"]["varies"] is False
    assert layers(process)["linear1"]["varies"] is True
    assert layers(process)["linear1"]["input"] == "4x8"


CHECKPOINTED = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    loss = checkpoint(net, torch.randn(4, 8), use_reentrant=False).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_layer_that_is_computed_again_in_backward_is_called_twice(tmp_path: Path) -> None:
    done = run(make_project(tmp_path / "project", train=CHECKPOINTED), *QUICKLY, "train.py")
    assert done.returncode == 0
    # Recomputation stops early, at the last tensor that backward needs: by an exception, inside a layer.
    assert stacks(done.process).count(("Sequential", "0")) == 6


COMPILED = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
compiled = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    loss = compiled(torch.randn(4, 8)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(torch._dynamo.utils.counters["stats"], torch._dynamo.utils.counters["graph_break"])
"""


def test_compilation_is_as_without_us_and_wrappers_are_no_part_of_a_name(tmp_path: Path) -> None:
    inside = run(make_project(tmp_path / "one", train=COMPILED), "--after", "1", "--steps", "3", "train.py")
    outside = run(make_project(tmp_path / "other", train=COMPILED), "--after", "100", "train.py")
    assert inside.stdout == outside.stdout != b""
    assert inside.stderr == b""
    # What the compiler made of the module is called inside it.
    assert {layer["path"] for layer in inside.process.layers.values()} == {"OptimizedModule", "(GraphModule)"}


MANY = f"""
import torch
from torch import nn

{OPTIMIZER}
net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(1200)))
optimizer = Descent(net.parameters())
for step in range(4):
    loss = net(torch.randn(4, 2)).sum()
    loss.backward()
    optimizer.step()
"""


def test_layers_beyond_the_thousandth_share_a_number(tmp_path: Path) -> None:
    done = run(make_project(tmp_path / "project", train=MANY), "--after", "1", "--steps", "1", "train.py")
    process = done.process
    assert len(process.layers) == 1000
    assert stacks(process).count(("Sequential", "?")) == 2 * 201


STRANGE = f"""
import torch
from torch import nn

class Strange(nn.Linear):
    @property
    def out_features(self):
        raise RuntimeError("not today")

    @out_features.setter
    def out_features(self, value):
        pass

    def forward(self, x):
        return x @ self.weight.T

{OPTIMIZER}
net = nn.Sequential(Strange(8, 4), nn.ReLU())
optimizer = Descent(net.parameters())
for step in range(6):
    loss = net(torch.randn(4, 8)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
"""


def test_a_module_that_cannot_be_described_has_no_name_and_runs_on(tmp_path: Path) -> None:
    done = run(make_project(tmp_path / "project", train=STRANGE), *QUICKLY, "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"done\n", b"")
    assert "not today" in done.process.notes["layers-lost"]
    assert {layer["path"] for layer in done.process.layers.values()} == {"Sequential", "1"}
    assert stacks(done.process).count(("Sequential", "?")) == 3


def test_events_of_layers_are_flat_pairs(training: Process) -> None:
    for events in training.layer_calls.values():
        assert isinstance(events, array) and len(events) % 2 == 0
        assert list(events[::2]) == sorted(events[::2])
