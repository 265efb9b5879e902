from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import has_unpacking, keyword, with_keyword

if TYPE_CHECKING:
    import libcst as cst

OTHER_DEFAULTS = {"eps": (3, "1e-6"), "weight_decay": (4, "0.0")}
"""Arguments whose defaults differ: their positions after the parameters, and Transformers' default."""
UNKNOWN_TO_TORCH = ("correct_bias", "no_deprecation_warning")


class TransformersAdamW(Rule):
    """The optimizer is Transformers' own AdamW, which updates parameters one by one.

    ## Why is this slow?

    It runs a Python loop over all parameters with about ten small kernels each. PyTorch's AdamW updates all
    of them with a handful of kernels. Measured on an H200 with torch 2.11, PyTorch's own in both ways: 200
    parameters took about 22 ms one by one and 3.6 ms at once, and a training step of 6 encoder layers 19.5 ms
    and 14.9 ms. Transformers has deprecated its optimizer in version 4, and taken it out since.

    ## When it stays silent

    - for `torch.optim.AdamW`, and for the Trainer's `optim=`, which does not use it by default;
    - where the name is imported from elsewhere.

    ## Fix safety

    Unsafe: PyTorch's has other defaults, which the fix writes down as they were (`eps=1e-6`,
    `weight_decay=0.0`), and adds `eps` before its correction of the bias instead of after, which changes
    results in their last digits. There is no fix where `correct_bias` is given.

    ## Sources

    - transformers/optimization.py, version 4: the loop, and its deprecation
    - torch.optim, "Algorithms": which implementation is taken by default
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL915"
    name = "transformers-adamw"
    wants = wants(calls=["transformers.AdamW", "transformers.optimization.AdamW"])
    proof = Signature(At.STEP, Metric.KERNELS)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Fine-tuning by hand.",
            """\
from transformers import AdamW, BertForSequenceClassification

model = BertForSequenceClassification.from_pretrained("bert-base-uncased")
optimizer = «AdamW(model.parameters(), lr=2e-5)»
""",
            """\
from transformers import AdamW, BertForSequenceClassification
import torch.optim

model = BertForSequenceClassification.from_pretrained("bert-base-uncased")
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, eps=1e-6, weight_decay=0.0)
""",
        ),
        Example(
            "With its own settings.",
            """\
import torch.optim
import transformers


def step(model, images):
    model(images.cuda()).mean().backward()


def optimizer(groups, options):
    return «transformers.AdamW(groups, lr=options.rate, eps=options.eps, weight_decay=0.01)»
""",
            """\
import torch.optim
import transformers


def step(model, images):
    model(images.cuda()).mean().backward()


def optimizer(groups, options):
    return torch.optim.AdamW(groups, lr=options.rate, eps=options.eps, weight_decay=0.01)
""",
        ),
    )

    quiet = (
        Example(
            "PyTorch's.",
            """\
import torch
from torch.optim import AdamW
from transformers import BertModel

model = BertModel.from_pretrained("bert-base-uncased")
optimizer = AdamW(model.parameters(), lr=2e-5)
other = torch.optim.AdamW(model.parameters(), lr=2e-5)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        is_plain = not has_unpacking(node) and all(keyword(node, name) is None for name in UNKNOWN_TO_TORCH)
        can_fix = is_plain and len(node.args) <= 5
        return Verdict(
            node,
            "Transformers' AdamW updates each parameter by itself, in Python. `torch.optim.AdamW` updates "
            "all of them at once.",
            Confidence.CERTAIN,
            Applicability.UNSAFE if can_fix else Applicability.NONE,
            "Use `torch.optim.AdamW`" if can_fix else "",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call) and isinstance(site, ast.Call)
        for name, (position, default) in OTHER_DEFAULTS.items():
            if keyword(site, name) is None and len(site.args) <= position:
                node = with_keyword(node, name, cst.parse_expression(default))
        function = cst.parse_expression("torch.optim.AdamW")
        return Rewrite(node.with_changes(func=function), ("torch.optim",))
