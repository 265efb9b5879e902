from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules.memory._steps import measures_memory, runs_each_step

HOLDERS = Pattern(r"(\w+_)?(accelerator|backend|cuda|device|hpu|mps|npu|xpu)(_module|_api)?|get_accelerator")
"""What ``empty_cache`` is called on when it is the allocator's: a module of torch, or one in a variable."""


class MemoryCleanedEachStep(Rule):
    """The allocator's cache is emptied, or Python's garbage collected, by hand in every step.

    ## Why is this slow?

    PyTorch keeps freed GPU memory to give it out again without asking anyone. `torch.cuda.empty_cache()`
    waits until the GPU has done its work and hands that memory back to the driver, and the next step fetches
    it again, block by block. It gives this program no memory that it would not have had: before it reports
    that memory is out, PyTorch empties the cache itself. `gc.collect()` looks at every object of the program,
    and the host queues no work meanwhile; it frees only what refers to itself in a circle, while tensors are
    freed as soon as nothing refers to them. Reported elsewhere: 250 steps took 108 s with both in each step,
    65 s without collecting, 45 s without either; the peak then was 23.5 GB instead of 19.3 GB. Measured on an
    H200 with torch 2.11: a step of eight convolution blocks took 7.6 ms, 12.3 ms with the cache emptied after
    it, and 152 ms with `gc.collect()` after it.

    ## When it stays silent

    - behind any condition (every N steps, after an error, for evaluation) and outside the innermost loop that
      trains, or the function that is one step;
    - where the loop measures memory, and where only the youngest objects are collected (`gc.collect(0)`).

    ## Fix safety

    There is no automatic fix. Take the call out; where several programs share the GPU, or fragments keep a
    large tensor from fitting, empty the cache now and then, or set
    `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. If memory grows without the calls, something keeps
    tensors.

    ## Sources

    - CUDA semantics, "Memory management", and the Python documentation of `gc`
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    - huggingface/peft#2894: less often, with times and peak memory
    - huggingface/transformers#31372: slower training with it, taken out again
    - pytorch/torchtitan#148: collecting at a fixed interval, on many ranks
    """

    code = "WL611"
    name = "memory-cleaned-each-step"
    wants = wants(methods={"empty_cache"}, calls={"gc.collect"})
    proof = Signature(At.LINE, Metric.ALLOCATION)
    risk = Risk.HIGH

    fires = (
        Example(
            "After each optimizer step, in a function that is one, and in `forward`.",
            """\
import gc

import torch
from torch import nn


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        «torch.cuda.empty_cache()»
        «gc.collect()»


class Trainer:
    def step(self, batch):
        self.model(batch.cuda()).mean().backward()
        self.optimizer.step()
        «torch.cuda.empty_cache()»

    def run(self, loader):
        for batch in loader:
            self.step(batch)


class Net(nn.Module):
    def forward(self, x):
        x = self.first(x)
        «torch.cuda.empty_cache()»
        return self.second(x)
""",
        ),
    )

    quiet = (
        Example(
            "Every hundredth step, after an error, once an epoch, and the youngest objects only.",
            """\
import gc

import torch


def train(model, loader, optimizer):
    for epoch in range(3):
        for step, batch in enumerate(loader):
            try:
                model(batch.cuda()).mean().backward()
            except torch.cuda.OutOfMemoryError:
                torch.cuda.empty_cache()
                continue
            optimizer.step()
            gc.collect(0)
            if step % 100 == 0:
                gc.collect()
                torch.cuda.empty_cache()
        torch.cuda.empty_cache()
        evaluate(model)
""",
        ),
        Example(
            "Loading part by part, and measuring memory.",
            """\
import torch


def load(model, files):
    for file in files:
        model.load_part(torch.load(file))
        torch.cuda.empty_cache()


def peak(model, loader, optimizer):
    for batch in loader:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        model(batch.cuda()).mean().backward()
        optimizer.step()
        print(torch.cuda.max_memory_allocated())
""",
        ),
        Example(
            "Another cache.",
            """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        model(batch.cuda()).mean().backward()
        optimizer.step()
        loader.empty_cache()
""",
        ),
        Example(
            "Around a training that another object runs, in a class that has a `forward` as well.",
            """\
import torch


class Worker(Base):
    def fit(self):
        torch.cuda.empty_cache()
        status = self.trainer.run()
        torch.cuda.empty_cache()
        return status

    def forward(self, x):
        return self.model(x)
""",
        ),
        Example(
            "Once a rollout: the steps are in a loop inside.",
            """\
import torch


def train(model, environment, optimizer):
    for update in range(1000):
        rollout = collect(model, environment)
        torch.cuda.empty_cache()
        for batch in rollout:
            model(batch).mean().backward()
            optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        collects = facts.qualified(node.func) == "gc.collect"
        holder = last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        if node.args or node.keywords or not (collects or HOLDERS.fullmatch(holder)):
            return None
        if not runs_each_step(node, facts) or measures_memory(node, facts):
            return None
        why = facts.why_hot(node)
        return Verdict(
            node,
            f"All of Python's objects are looked at in every step ({why}), and the GPU waits for work "
            "meanwhile. Take it out: tensors are freed without it."
            if collects
            else f"The cache is emptied in every step ({why}): the host waits for the GPU, and the next step "
            "gets its memory from the driver anew. Take it out, or do it now and then.",
            Confidence.CERTAIN,
        )
