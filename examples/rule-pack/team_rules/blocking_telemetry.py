"""A rule about a helper that only we have."""

from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Hotness
from warplint.static.rules.rule import (
    At,
    Confidence,
    Example,
    Metric,
    Risk,
    Rule,
    Severity,
    Signature,
    Verdict,
    wants,
)


class BlockingTelemetry(Rule):
    """`telemetry.push` is called every step, and reads what it is given on the host.

    ## Why is this slow?

    Our `push` formats its values at once, so each tensor among them makes the host wait for the GPU.
    `push_later` keeps them on the GPU until the end of the epoch.

    ## When it stays silent

    - outside code that runs every step.

    ## Fix safety

    There is no automatic fix: what is pushed later is seen later.

    ## Sources

    - our own `telemetry/push.py`
    """

    code = "TEAM101"
    name = "blocking-telemetry"
    wants = wants(calls={"telemetry.push"})
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM
    severity = Severity.ERROR

    fires = (
        Example(
            "The loss of every step.",
            """\
import telemetry
import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.AdamW(model.parameters())
for x in batches:
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    «telemetry.push(loss=loss)»
""",
        ),
    )
    quiet = (
        Example(
            "Once, after the training.",
            """\
import telemetry
import torch

telemetry.push(version=torch.__version__)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        if facts.hotness(node) is not Hotness.STEP:
            return None
        message = "telemetry.push makes the host wait every step; push_later does not"
        return Verdict(node, message, Confidence.CERTAIN)
