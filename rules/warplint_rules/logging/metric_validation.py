from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Severity
from warplint.static.parsing.tree import FunctionNode, last_name
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import has_unpacking, keyword, with_keyword
from warplint_rules._lightning import lightning_class

if TYPE_CHECKING:
    import libcst as cst

KINDS = (
    "AUROC", "Accuracy", "AveragePrecision", "CohenKappa", "ConfusionMatrix", "ExactMatch", "F1Score",
    "FBetaScore", "HammingDistance", "JaccardIndex", "MatthewsCorrCoef", "Precision", "PrecisionRecallCurve",
    "ROC", "Recall", "Specificity", "StatScores",
)  # fmt: skip
"""Classification metrics that look at the values they are handed."""
TASKS = ("Binary", "Multiclass", "Multilabel")
PACKAGES = ("torchmetrics", "torchmetrics.classification")


class MetricValidatesEveryStep(Rule):
    """A torchmetrics metric of the training step checks the labels it is handed, on the host.

    ## Why is this slow?

    With `validate_args=True`, the default, each update of a classification metric sorts the labels
    (`torch.unique`) and reads back how many there are: the host waits for the GPU once for each metric and
    step. The documentation says to set it to False for faster computations.

    It is a note, because the check finds wrong labels: leave it on until the data is known to be right.

    ## When it stays silent

    - where `validate_args` is given, or may be among `**kwargs`;
    - for metrics that `training_step` does not use: those of an evaluation cost less often;
    - outside Lightning modules, where metrics may live on the CPU.

    ## Fix safety

    Unsafe: labels that are out of range are counted somewhere instead of raising an error.

    ## Sources

    - torchmetrics documentation, `validate_args`: "Set to False for faster computations"
    - torchmetrics/functional/classification/stat_scores.py: what is checked
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL566"
    name = "metric-validates-every-step"
    wants = wants(
        calls=[f"{package}.{task}{kind}" for package in PACKAGES for kind in KINDS for task in ("", *TASKS)]
    )
    proof = Signature(At.USES, Metric.WAIT)
    risk = Risk.LOW
    severity = Severity.INFO

    fires = (
        Example(
            "The accuracy of the training step, by itself and in a collection.",
            """\
import lightning as L
import torch
import torchmetrics
from torchmetrics.classification import MulticlassF1Score


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.train_acc = «torchmetrics.Accuracy(task="multiclass", num_classes=10)»
        self.val_acc = torchmetrics.Accuracy(task="multiclass", num_classes=10)
        self.scores = torchmetrics.MetricCollection([«MulticlassF1Score(10)»])

    def training_step(self, batch, index):
        logits = self(batch[0])
        self.train_acc(logits, batch[1])
        self.scores.update(logits, batch[1])
        self.log("acc", self.train_acc)
        return logits.mean()

    def validation_step(self, batch, index):
        self.val_acc.update(self(batch[0]), batch[1])
""",
            """\
import lightning as L
import torch
import torchmetrics
from torchmetrics.classification import MulticlassF1Score


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.train_acc = torchmetrics.Accuracy(task="multiclass", num_classes=10, validate_args=False)
        self.val_acc = torchmetrics.Accuracy(task="multiclass", num_classes=10)
        self.scores = torchmetrics.MetricCollection([MulticlassF1Score(10, validate_args=False)])

    def training_step(self, batch, index):
        logits = self(batch[0])
        self.train_acc(logits, batch[1])
        self.scores.update(logits, batch[1])
        self.log("acc", self.train_acc)
        return logits.mean()

    def validation_step(self, batch, index):
        self.val_acc.update(self(batch[0]), batch[1])
""",
        ),
    )

    quiet = (
        Example(
            "Checks are off or unknown to the release, or the metric is one of evaluation.",
            """\
import lightning as L
import torch
import torchmetrics
from torchmetrics import Accuracy, MeanMetric


class Net(L.LightningModule):
    def __init__(self, options):
        super().__init__()
        self.fast = Accuracy("binary", validate_args=False)
        self.other = Accuracy("binary", **options)
        self.val_acc = Accuracy("binary")
        self.loss = MeanMetric()
        self.old = torchmetrics.Accuracy()

    def training_step(self, batch, index):
        loss = self(batch).mean()
        self.fast(loss, loss)
        self.other(loss, loss)
        self.loss(loss)
        self.old(loss, loss)
        return loss

    def validation_step(self, batch, index):
        self.val_acc(self(batch), batch)


accuracy = Accuracy("binary")
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if keyword(node, "validate_args") is not None or has_unpacking(node) or _is_old(node):
            return None
        owner = lightning_class(node, facts)
        attributes = _attributes(facts.statement(node))
        if owner is None or not attributes & _used_in_training_step(owner):
            return None
        return Verdict(
            node,
            f"`{last_name(node)}` sorts the labels and reads back their number in each training step. Once "
            "the data is known to be right, set `validate_args=False`.",
            Confidence.CERTAIN,
            Applicability.UNSAFE,
            "Add `validate_args=False`",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call)
        return Rewrite(with_keyword(node, "validate_args", cst.Name("False")))


def _is_old(call: ast.Call) -> bool:
    """Whether a metric is told no task, as before torchmetrics 0.11, which has no such argument."""
    names_task = last_name(call).startswith(TASKS)
    return not (names_task or call.args or keyword(call, "task") is not None)


def _attributes(statement: ast.stmt) -> set[str]:
    """The attributes that a statement sets."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.attr for target in targets if isinstance(target, ast.Attribute)}


def _used_in_training_step(owner: ast.ClassDef) -> set[str]:
    steps = (part for part in owner.body if isinstance(part, FunctionNode) and part.name == "training_step")
    return {node.attr for step in steps for node in ast.walk(step) if isinstance(node, ast.Attribute)}
