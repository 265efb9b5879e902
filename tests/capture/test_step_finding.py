"""What counts as a step."""

from __future__ import annotations

from pathlib import Path

import torch
from programs import ON_MONITORING, QUICKLY, TRAINING, make_project, run

from warplint.capture.steps.leading import STRANGERS, LeadingModule

INFERENCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    def forward(self, x):
        if x is None:
            raise ValueError
        return self.parts(x)
model = Model()
def infer(count):
    for index in range(count):
        y = model(torch.ones(2, 4))
        try:
            model(None)
        except ValueError:
            pass
"""


def test_an_outermost_module_call_is_a_step_of_inference(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", infer=f"{INFERENCE}infer(10)\n")
    process = run(root, *QUICKLY, "infer.py").process
    if ON_MONITORING:
        assert [(window["step"], window["step_kind"]) for window in process.opened] == [(2, "module")]
        assert process.closed[0]["step"] == 5
        assert process.steps == list(range(1, 11)), "calls that raise are no steps"
        assert len(process.lines_of("infer")) >= 2
    else:
        assert process.opened == []
        assert "Python 3.12" in process.notes["no-steps"]


BESIDE = """
loss, noise = torch.nn.MSELoss(), torch.nn.Dropout()
for step in range(10):
    samples = torch.stack([noise(torch.ones(4)) for sample in range(64)])
    time.sleep(0.01)
    loss(model(samples), torch.zeros(64, 4))
    torch.nn.ReLU()(samples)
"""


def test_a_loss_or_a_transform_beside_the_model_makes_no_steps(tmp_path: Path) -> None:
    text = INFERENCE.replace("x is None", "time.sleep(0.02)") + BESIDE
    root = make_project(tmp_path / "project", infer=f"import time\n{text}")
    process = run(root, "--after", "66", "--steps", "2", "infer.py").process
    if ON_MONITORING:
        # The transform leads until the model, which takes longer, has been called for the first time.
        assert process.steps == list(range(1, 64 + 10 + 1))
        assert process.closed[0]["step"] == 64 + 2 + 1 + 2
    else:
        assert process.steps == []


def test_which_module_makes_the_steps() -> None:
    first, second, third = (torch.nn.Linear(1, 1) for _ in range(3))
    leading = LeadingModule()
    calls = [(first, 10), (second, 9), (first, 10), (second, 9), (second, 9), (second, 12), (second, 1)]
    assert [leading.makes_step(*call) for call in calls] == [
        *(True, False, True, False, False),
        # 39 are not yet twice 20, and 40 are.
        *(False, True),
    ]
    assert not leading.makes_step(first, 10)
    assert [leading.makes_step(third, 1) for _ in range(STRANGERS)] == [False] * (STRANGERS - 1) + [True]
    assert leading.makes_step(third, 1)
    del third
    assert leading.makes_step(first, 1), "nobody leads any more"


def test_however_many_transforms_a_batch_has_the_model_makes_the_steps() -> None:
    first, second, model, loss = (torch.nn.Linear(1, 1) for _ in range(4))
    leading = LeadingModule()
    # All of a batch takes 2 * 64 * 3 of transforms, each of which takes less than two calls of the model.
    batch = [*[(first, 3), (second, 3)] * 64, (model, 100), (loss, 1)]
    assert leading.makes_step(model, 100), "it was warmed up"
    for _ in range(10):
        assert [call for call in batch if leading.makes_step(*call)] == [(model, 100)]


def test_forward_passes_before_training_are_no_steps(tmp_path: Path) -> None:
    text = f"{TRAINING}\nfor index in range(30):\n    model(torch.randn(4, 8))\ntrain(8)\n"
    root = make_project(tmp_path / "project", train=text)
    process = run(root, *QUICKLY, "train.py").process
    assert [(window["step"], window["step_kind"]) for window in process.opened] == [(2, "optimizer")]
    assert process.steps == list(range(1, 9))


def test_the_first_of_several_optimizers_sets_the_step(tmp_path: Path) -> None:
    text = f"""
{TRAINING}
other = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1)
for index in range(8):
    train(1)
    other.step()
    other.step()
"""
    root = make_project(tmp_path / "project", train=text)
    assert run(root, *QUICKLY, "train.py").process.steps == list(range(1, 9))


def test_an_optimizer_that_is_gone_makes_way_for_the_next(tmp_path: Path) -> None:
    text = f"""
import gc
{TRAINING}
train(3)
optimizer = Descent(model.parameters())
gc.collect()
train(5)
"""
    root = make_project(tmp_path / "project", train=text)
    assert run(root, *QUICKLY, "train.py").process.steps == list(range(1, 9))


def test_an_optimizer_that_is_no_longer_used_makes_way_for_the_next(tmp_path: Path) -> None:
    text = f"""
{TRAINING}
train(3)
kept = optimizer
optimizer = Descent(model.parameters())
train(50)
"""
    root = make_project(tmp_path / "project", train=text)
    assert len(run(root, *QUICKLY, "train.py").process.steps) == 3 + 50 - 20


def test_a_window_waits_for_step_times_to_settle(tmp_path: Path) -> None:
    text = f"""
import time
{TRAINING}
for index in range(40):
    time.sleep(0.05 if index >= 8 else 0.2 / (index + 1) + 0.05 * (index % 2))
    train(1)
"""
    root = make_project(tmp_path / "project", train=text)
    process = run(root, "--steps", "5", "train.py").process
    assert process.opened[0]["reason"] == "step time settled"
    assert process.opened[0]["step"] >= 10


def test_a_window_closes_when_its_seconds_are_over(tmp_path: Path) -> None:
    text = f"""
import time
{TRAINING}
train(3)
started = time.monotonic()
while time.monotonic() - started < 3:
    time.sleep(0.05)
print(torch.autograd._profiler_enabled())
"""
    root = make_project(tmp_path / "project", train=text)
    done = run(root, "--after", "2", "--seconds", "1", "train.py")
    assert (done.stdout, done.stderr) == (b"False\n", b"")
    assert done.process.closed[0]["reason"] == "it had lasted 1 s"
    assert 1 <= done.process.closed[0]["price"]["inside_s"] < 2


def test_a_window_closes_in_library_code_too(tmp_path: Path) -> None:
    text = """
import sys, time
sys.path.append(sys.argv[1])
import torch
import library
library.main()
"""
    library = f"""
import time
{TRAINING}
def main():
    train(3)
    started = time.monotonic()
    while time.monotonic() - started < 3:
        time.sleep(0.05)
        model(torch.randn(4, 8))
    print(torch.autograd._profiler_enabled())
"""
    root = make_project(tmp_path / "project", train=text)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "library.py").write_text(library, encoding="utf-8")
    done = run(root, "--after", "2", "--seconds", "1", "train.py", str(outside))
    assert (done.stdout, done.stderr) == (b"False\n", b"")
    assert done.process.closed[0]["reason"] == "it had lasted 1 s"


def test_an_included_package_counts_as_user_code(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train="import library\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "library.py").write_text(f"{TRAINING}train(8)\n", encoding="utf-8")
    path = {"PYTHONPATH": str(outside)}
    without = run(root, *QUICKLY, "train.py", environment=path).process
    assert without.lines_of("train") == set()
    other = make_project(tmp_path / "other", train="import library\n")
    options = ("--include", "library", "--include", "missing_package")
    included = run(other, *QUICKLY, *options, "train.py", environment=path).process
    assert len(included.lines_of("train")) >= 4
    assert "missing_package" in included.notes["include-missing"]
