from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules.memory._steps import measures_memory, runs_each_step


class CollectGarbageEachStep(Rule):
    """Python's garbage is collected in full in every step, while the GPU waits for work.

    ## Why is this slow?

    `gc.collect()` looks at every object of the program, which takes tens to hundreds of milliseconds where
    PyTorch and a large program are loaded, and the host queues no work meanwhile. It frees only what refers
    to itself in a circle; tensors are freed as soon as nothing refers to them. Reported elsewhere: 250 steps
    took 108 s with it and 65 s without.

    ## When it stays silent

    - behind any condition, and outside the innermost loop that trains: collecting every N steps, with
      automatic collection off, keeps many ranks in step;
    - where only the youngest objects are collected (`gc.collect(0)`), and where the function measures memory.

    ## Fix safety

    There is no automatic fix. Take the call out; if memory then grows, something keeps tensors: find it with
    `torch.cuda.memory._record_memory_history()`.

    ## Sources

    - Python documentation, `gc`
    - huggingface/peft#2894: times with and without
    - pytorch/torchtitan#148: collecting at a fixed interval on many ranks
    """

    code = "WL612"
    name = "collect-garbage-each-step"
    wants = wants(calls={"gc.collect"})
    proof = Signature(At.LINE, Metric.HOST_TIME)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "In each round of the training loop.",
            """\
import gc

import torch


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        del loss
        «gc.collect()»
""",
        ),
    )

    quiet = (
        Example(
            "At an interval, once an epoch, and the youngest objects only.",
            """\
import gc

import torch


def train(model, loader, optimizer):
    gc.disable()
    for epoch in range(3):
        for step, batch in enumerate(loader):
            model(batch.cuda()).mean().backward()
            optimizer.step()
            gc.collect(0)
            if step % 50 == 0:
                gc.collect()
        gc.collect()
""",
        ),
        Example(
            "Loading and evaluating part by part.",
            """\
import gc

import torch


def load(model, files):
    for file in files:
        model.load_part(torch.load(file))
        gc.collect()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if node.args or node.keywords or not runs_each_step(node, facts) or measures_memory(node, facts):
            return None
        return Verdict(
            node,
            f"All of Python's objects are looked at in every step ({facts.why_hot(node)}), and the GPU waits "
            "for work meanwhile. Take it out: tensors are freed without it.",
            Confidence.CERTAIN,
        )
