from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import has_unpacking, keyword, with_keyword
from warplint_rules._text import short
from warplint_rules.synchronisation._waiting import counts, host_waits, waiting

if TYPE_CHECKING:
    import libcst as cst

VALIDATING = (
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Exponential", "FisherSnedecor", "Gamma", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace",
    "LogNormal", "LowRankMultivariateNormal", "Multinomial", "MultivariateNormal", "NegativeBinomial",
    "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "Uniform", "VonMises", "Weibull", "Wishart",
)  # fmt: skip
"""Distributions that check their parameters when they are made, and values when asked for their density."""

SWITCH = "set_default_validate_args"


def _names() -> set[str]:
    """Each class by its short name and by the module that defines it."""
    modules = {name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in VALIDATING}
    short_names = {f"torch.distributions.{name}" for name in VALIDATING}
    return short_names | {f"torch.distributions.{module}.{name}" for name, module in modules.items()}


class ValidatedDistribution(Rule):
    """A distribution is made of GPU tensors every step and checks them, which the host waits for.

    ## Why is this slow?

    By default a distribution checks its parameters when it is made (`.all()` in a Python condition), and
    `log_prob` checks its values. Each check stops the host until the GPU has done all work queued so far.
    Measured on an H200 with torch 2.11: `Normal` and `Categorical` wait, and so does `log_prob`; with
    `validate_args=False` nothing does.

    ## When it stays silent

    - with `validate_args`, and in files that call `Distribution.set_default_validate_args`;
    - outside code that runs every step, in set-up and in data sets;
    - for CPU tensors and Python numbers;
    - in tests, and in a program that trains a model of its own and names no device at all;
    - when the engine cannot tell that the parameters are tensors.

    ## Fix safety

    The fix adds `validate_args=False`. It is unsafe: NaN and negative scales are then no longer reported
    where they arise. While you debug, switch the checks on for the whole program with
    `torch.distributions.Distribution.set_default_validate_args(True)` and leave the argument out.

    ## Sources

    - torch.distributions: `validate_args`
    - pytorch/pytorch#48743 and ray-project/ray#50440: validation as a cost of each step
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL208"
    name = "validated-distribution"
    wants = wants(calls=_names())
    proof = Signature(At.LINE, Metric.WAIT)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "A policy's action distribution.",
            """\
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        logits = self.head(x)
        chosen = «Categorical(logits=logits)»
        return chosen.sample()
""",
            """\
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        logits = self.head(x)
        chosen = Categorical(logits=logits, validate_args=False)
        return chosen.sample()
""",
        ),
        Example(
            "The posterior of an autoencoder, in the training loop.",
            """\
import torch
from torch.distributions.normal import Normal


def train(model, loader, optimizer):
    for images in loader:
        mean, scale = model(images.cuda()).chunk(2, dim=1)
        posterior = «Normal(mean, scale.exp())»
        loss = -posterior.log_prob(posterior.rsample()).mean()
        loss.backward()
        optimizer.step()
""",
            """\
import torch
from torch.distributions.normal import Normal


def train(model, loader, optimizer):
    for images in loader:
        mean, scale = model(images.cuda()).chunk(2, dim=1)
        posterior = Normal(mean, scale.exp(), validate_args=False)
        loss = -posterior.log_prob(posterior.rsample()).mean()
        loss.backward()
        optimizer.step()
""",
        ),
    )

    quiet = (
        Example(
            "Validation is off, or decided by the caller.",
            """\
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def forward(self, x, checked):
        first = Categorical(logits=x, validate_args=False)
        return first, Categorical(logits=x, validate_args=checked)
""",
        ),
        Example(
            "Made once a device, and kept.",
            """\
import torch
from torch import nn
from torch.distributions import Uniform

KEPT = {}


class Jitter(nn.Module):
    def forward(self, x):
        draw = KEPT.get(x.device)
        if draw is None:
            one = torch.ones((), device=x.device)
            draw = Uniform(low=one - 0.1, high=one + 0.1).rsample
            KEPT[x.device] = draw
        return x * draw(x.shape)
""",
        ),
        Example(
            "Off for the whole program.",
            """\
import torch
from torch import nn
from torch.distributions import Distribution, Normal

Distribution.set_default_validate_args(False)


class Policy(nn.Module):
    def forward(self, x):
        return Normal(x, 1.0).sample()
""",
        ),
        Example(
            "A prior of Python numbers, made once.",
            """\
import torch
from torch import nn
from torch.distributions import Normal


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.prior = Normal(0.0, 1.0)

    def forward(self, x):
        return x + Normal(0.0, 1.0).sample((3,))
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if keyword(node, "validate_args") is not None or has_unpacking(node) or not counts(node, facts):
            return None
        given = [facts.value(part) for part in [*node.args, *(named.value for named in node.keywords)]]
        read = next((value for value in given if value.on_accelerator), None)
        if read is None or facts.is_called(SWITCH):
            return None
        return waiting(
            node,
            read,
            f"`{short(node)}` checks its parameters, which {host_waits(node, facts)}. Pass "
            "`validate_args=False` once the program works.",
            Applicability.UNSAFE,
            "Add validate_args=False",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call)
        return Rewrite(with_keyword(node, "validate_args", cst.Name("False")))
