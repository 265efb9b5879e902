"""What a loader is for, told by the names around it: training is what runs for hours."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts, Role
from warplint.static.inference.arguments import is_off
from warplint_rules._calls import keyword
from warplint_rules.data._words import words_of


class Purpose(enum.Enum):
    TRAINING = "training"
    OTHER = "other"
    """Evaluation, prediction, sampling, a demonstration."""
    UNKNOWN = "unknown"


ORDERED = Pattern("Sequential|Ordered")
TRAINING_WORDS = {"train", "training", "trainer", "trn", "finetune", "pretrain"}
OTHER_WORDS = {
    "calib", "calibration", "demo", "dev", "devel", "dummy", "eval", "evaluate", "evaluation",
    "evaluator", "example", "fake", "gallery", "heldout", "infer", "inference", "mock", "pred", "predict",
    "prediction", "probe", "query", "sample", "synthetic", "test", "testing", "toy", "val", "valid",
    "validate", "validation",
}  # fmt: skip


def purpose_of(loader: ast.Call, dataset: ast.expr, facts: Facts) -> Purpose:
    """By the nearest names: the loader's and its data set's, what that is made of, the function's."""
    near = words_of(*_targets(loader, facts), *_names(dataset))
    made = facts.value(dataset).origin
    function = facts.function(loader)
    around = words_of(function.name) if function is not None else set()
    for words in (near, words_of(*_names(made)) if made is not None else set(), around):
        if words & OTHER_WORDS:
            return Purpose.OTHER
        if words & TRAINING_WORDS:
            return Purpose.TRAINING
    if function is not None and function.role is Role.EVALUATE:
        return Purpose.OTHER
    return Purpose.UNKNOWN


def keeps_order(sampler: ast.expr, facts: Facts) -> bool:
    """Whether a sampler goes through the data in order, as for evaluation."""
    made = facts.value(sampler).origin or sampler
    if isinstance(made, ast.IfExp):
        return keeps_order(made.body, facts) or keeps_order(made.orelse, facts)
    if not isinstance(made, ast.Call):
        return False
    name = ast.unparse(made.func).rpartition(".")[2]
    shuffle = keyword(made, "shuffle")
    if ORDERED.match(name) or (shuffle is not None and is_off(shuffle)):
        return True
    return "Batch" in name and bool(made.args) and keeps_order(made.args[0], facts)


def _targets(loader: ast.Call, facts: Facts) -> Iterator[str]:
    """The names that the loader is assigned to, or the key under which it is kept."""
    statement = facts.statement(loader)
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _names(target)
    elif isinstance(statement, ast.AnnAssign):
        yield from _names(statement.target)
    parent = facts.parent(loader)
    if isinstance(parent, ast.Dict):
        yield from _names(parent.keys[parent.values.index(loader)] or parent)
    elif isinstance(parent, ast.keyword):
        yield parent.arg or ""


def _names(node: ast.expr) -> Iterator[str]:
    """Every name, attribute and string in an expression: ``self.data["train"]`` says train."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
