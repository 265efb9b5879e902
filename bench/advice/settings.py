"""Settings left on from debugging, and what compiling a model is worth."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.nn.functional as F
from case import Cases, Pair
from modes import blocks, images, training
from torch import nn

CASES = Cases()


@contextmanager
def cudnn(**flags: bool) -> Iterator[None]:
    before = {name: getattr(torch.backends.cudnn, name) for name in flags}
    for name, value in flags.items():
        setattr(torch.backends.cudnn, name, value)
    yield
    for name, value in before.items():
        setattr(torch.backends.cudnn, name, value)


def under(step: Callable[[], object], **flags: bool) -> Callable[[], None]:
    def whole() -> None:
        with cudnn(**flags):
            step()

    return whole


@CASES.add("a training step of 8 conv blocks, cudnn.enabled = False; True")
def without_cudnn() -> Pair:
    step = training(blocks(), images())
    return Pair(under(step, enabled=False), under(step, enabled=True), per_round=5)


@CASES.add("a training step of 8 conv blocks, cudnn.deterministic = True; False")
def deterministic() -> Pair:
    step = training(blocks(), images())
    return Pair(under(step, deterministic=True), under(step, deterministic=False))


@CASES.add("a training step of 8 conv blocks, cudnn.benchmark = False; True")
def benchmark() -> Pair:
    step = training(blocks(), images())
    return Pair(under(step, benchmark=False), under(step, benchmark=True))


def linears() -> Callable[[], None]:
    model = nn.Sequential(*[layer for _ in range(20) for layer in (nn.Linear(512, 512), nn.GELU())]).cuda()
    return training(model, torch.randn(256, 512, device="cuda"))


@CASES.add("a training step of 20 linear layers, set_detect_anomaly(True); False")
def anomaly() -> Pair:
    step = linears()

    def found() -> None:
        with torch.autograd.set_detect_anomaly(True):
            step()

    return Pair(found, step)


STEPS_PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import torch
from settings import linears
step = linears()
for _ in range(20): step()
torch.cuda.synchronize()
start = time.perf_counter()
for _ in range(100): step()
torch.cuda.synchronize()
print((time.perf_counter() - start) / 100)
"""


def elsewhere(**environment: str) -> Callable[[], None]:
    """A step of the time that it takes in a process of its own with this environment."""
    program = [sys.executable, "-c", STEPS_PROGRAM, str(Path(__file__).parent)]
    ran = subprocess.run(
        program, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    took_s = float(ran.stdout)

    def step() -> None:
        until = time.perf_counter() + took_s
        while time.perf_counter() < until:
            pass

    return step


@CASES.add("a training step of 20 linear layers (processes of their own), CUDA_LAUNCH_BLOCKING=1; unset")
def launch_blocking() -> Pair:
    return Pair(elsewhere(CUDA_LAUNCH_BLOCKING="1"), elsewhere(), per_round=1)


@CASES.add(
    "a training step of 20 linear layers (processes of their own), PYTORCH_NO_CUDA_MEMORY_CACHING=1; unset"
)
def no_caching() -> Pair:
    return Pair(elsewhere(PYTORCH_NO_CUDA_MEMORY_CACHING="1"), elsewhere(), per_round=1)


def gelu_by_hand(values: torch.Tensor) -> torch.Tensor:
    return 0.5 * values * (1 + torch.tanh(0.79788456 * (values + 0.044715 * values**3)))


@CASES.add("GELU by hand on [8192, 1024] bf16; F.gelu(approximate='tanh')")
def hand_gelu() -> Pair:
    values = torch.randn(8192, 1024, device="cuda", dtype=torch.bfloat16)
    return Pair(lambda: gelu_by_hand(values), lambda: F.gelu(values, approximate="tanh"))


@CASES.add("GELU by hand on [8192, 1024] bf16; torch.compile of it")
def compiled_gelu() -> Pair:
    values = torch.randn(8192, 1024, device="cuda", dtype=torch.bfloat16)
    compiled = torch.compile(gelu_by_hand)
    return Pair(lambda: gelu_by_hand(values), lambda: compiled(values))


@CASES.add("GELU on [8192, 1024] bf16, torch.compile called at each use; once")
def compiled_each_time() -> Pair:
    values = torch.randn(8192, 1024, device="cuda", dtype=torch.bfloat16)
    compiled = torch.compile(gelu_by_hand)
    return Pair(lambda: torch.compile(gelu_by_hand)(values), lambda: compiled(values))


def normed(remove: bool) -> Callable[[], object]:
    layers = [nn.utils.weight_norm(nn.Conv1d(256, 256, 3, padding=1)) for _ in range(60)]
    for layer in layers if remove else ():
        nn.utils.remove_weight_norm(layer)
    model = nn.Sequential(*layers).cuda()
    sound = torch.randn(1, 256, 512, device="cuda")

    def step() -> object:
        with torch.no_grad():
            return model(sound)

    return step


@CASES.add("inference of 60 Conv1d under torch.nn.utils.weight_norm, [1, 256, 512]; after remove_weight_norm")
def weight_norm() -> Pair:
    return Pair(normed(False), normed(True))


@CASES.add("a compiled function of 10 parts with item() between them; without")
def broken_graph() -> Pair:
    values = torch.randn(1024, 1024, device="cuda")

    def reading(values: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            values = torch.tanh(values) * 0.5
            if values.sum().item() > 1e9:
                return values
        return values

    def whole(values: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            values = torch.tanh(values) * 0.5
        return values

    found, advised = torch.compile(reading), torch.compile(whole)
    return Pair(lambda: found(values), lambda: advised(values))


@CASES.add("a training step of 20 linear layers, torch.save of the model after each; never")
def saved() -> Pair:
    model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(20)]).cuda()
    batch = torch.randn(256, 512, device="cuda")
    file = Path(tempfile.mkdtemp()) / "model.pt"
    return Pair(
        training(model, batch, lambda: torch.save(model.state_dict(), file)),
        training(model, batch),
        per_round=5,
    )


@CASES.add("a training step of 20 linear layers, loss.item() after each; kept on the GPU")
def read_each_step() -> Pair:
    model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(20)]).cuda()
    batch = torch.randn(256, 512, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

    def stepping(read: bool) -> Callable[[], object]:
        def step() -> object:
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            return loss.item() if read else loss.detach()

        return step

    return Pair(stepping(True), stepping(False))


@CASES.add("a training step of 20 linear layers under torch.profiler without a schedule; without")
def profiled() -> Pair:
    step = linears()

    def found() -> None:
        with torch.profiler.profile():
            step()

    return Pair(found, step, per_round=2)
