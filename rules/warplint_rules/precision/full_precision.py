from __future__ import annotations

import ast

from warplint.static.facts import Facts, Role
from warplint.static.finding import Confidence, Hotness, Severity
from warplint.static.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables import frequency
from warplint.static.tree import last_name
from warplint.static.values import Kind, Place
from warplint_rules._text import short

SCRIPT = r"__name__\s*==\s*[\"']__main__"
MATRIX_MODELS = r"(?i)transformer|multihead|attention|bert|gpt|llama|\bvit|from_pretrained"
"""Models that spend their time in matrix products. cuDNN's convolutions use TF32 by default."""
GRAPHS = r"torch_geometric|\bdgl\b|(?i:graph|\bgat\b)"
"""Attention over graphs is gathering and scattering, and its matrices are small."""
NO_TRAINING = {Role.EVALUATE, Role.GENERATE}
CHOSEN = (
    r"(?i)autocast|tf32|matmul_precision|fp32_precision|gradscaler|bfloat16|float16|\bhalf\b|mixed_?precision"
    r"|fp16|bf16|float64|\.double\(|\baccelerate\b|\bAccelerator\(|deepspeed|lightning|fabric|\bapex\b|Trainer\("
    r"|deterministic|torch_?dtype"
)
"""What a file mentions that chooses the precision, or has it chosen by a framework."""


class FullPrecisionMatmul(Rule):
    """A script trains on the GPU with matrix products in full float32, and never says so.

    ## Why is this slow?

    By default PyTorch multiplies float32 matrices without the tensor cores. Since Ampere they take float32
    as TF32: the same range, and 10 bits of mantissa for the factors, with sums in float32. One line switches
    them on: `torch.set_float32_matmul_precision("high")`. Models of attention and linear layers spend most of
    their time there.

    ## When it stays silent

    - in files that choose a precision anywhere: autocast, TF32, half or double precision, a framework's
      setting;
    - outside scripts: a library's module leaves the choice to the program;
    - without a backward pass, and where nothing says that the model is made of attention or comes from
      `from_pretrained`: convolutions use TF32 already;
    - in files about graphs, whose attention gathers and scatters more than it multiplies.

    ## Fix safety

    There is no automatic fix: results differ in the third or fourth digit. For most training that does not
    matter; for solvers, physics and comparisons with earlier results it may.

    ## Sources

    - torch.set_float32_matmul_precision
    - CUDA semantics, "TensorFloat-32 (TF32) on Ampere (and later) devices"
    - PyTorch performance tuning guide, "Enable Tensor cores"
    """

    code = "WL401"
    name = "full-precision-matmul"
    wants = wants(methods={"to", "cuda"})
    proof = Signature(At.STEP, Metric.WAIT)
    risk = Risk.HIGH
    severity = Severity.INFO

    fires = (
        Example(
            "A transformer trains as it comes.",
            """\
import torch
from transformers import AutoModelForSequenceClassification


def main(loader):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
    model = «model.to("cuda")»
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(load())
""",
        ),
    )

    quiet = (
        Example(
            "TF32 is on.",
            """\
import torch
from models import Transformer

torch.set_float32_matmul_precision("high")


def main(loader):
    model = Transformer().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main(load())
""",
        ),
        Example(
            "Mixed precision.",
            """\
import torch
from models import Transformer


def main(loader):
    model = Transformer().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(load())
""",
        ),
        Example(
            "Convolutions, whose products are in TF32 by default.",
            """\
import torch
import torchvision


def main(loader):
    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main(load())
""",
        ),
        Example(
            "A library's training function, and a loss and tensors that move.",
            """\
import torch
from torch import nn


def fit(transformer, loader, optimizer):
    transformer.to("cuda")
    criterion = nn.CrossEntropyLoss().to("cuda")
    for images, labels in loader:
        criterion(transformer(images.to("cuda")), labels.to("cuda")).backward()
        optimizer.step()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if facts.hotness(node) is Hotness.STEP or not _is_model(node.func.value, facts):
            return None
        if not _goes_to_gpu(node, facts) or not facts.is_called("backward"):
            return None
        if facts.mentions(CHOSEN) or facts.mentions(GRAPHS) or not facts.mentions(MATRIX_MODELS):
            return None
        function = facts.function(node)
        if function is not None and (function.role in NO_TRAINING or not facts.mentions(SCRIPT)):
            return None
        return Verdict(
            node,
            f"After `{short(node)}` the model trains with matrix products in full float32, without the "
            'tensor cores. `torch.set_float32_matmul_precision("high")` at the start lets it use TF32.',
            Confidence.LIKELY,
        )


def _is_model(node: ast.expr, facts: Facts) -> bool:
    """Whether an expression is a model: not a single layer or loss of PyTorch, nor a part moving itself."""
    if isinstance(node, ast.Name) and node.id == "self":
        return False
    value = facts.value(node)
    if value.kind is Kind.MODULE:
        return value.qualified is None or not value.qualified.startswith("torch.nn.")
    is_named = frequency.MODEL.fullmatch(last_name(node)) is not None
    return value.kind is Kind.UNKNOWN and is_named and not isinstance(node, ast.Subscript)


def _goes_to_gpu(call: ast.Call, facts: Facts) -> bool:
    if last_name(call.func) == "cuda":
        return True
    moved = facts.value(call)
    if moved.kind is Kind.MODULE:
        return moved.place in (Place.ACCELERATOR, Place.LIKELY_ACCELERATOR)
    given = [facts.value(argument) for argument in call.args]
    return any(value.kind is Kind.DEVICE and value.place is not Place.CPU for value in given)
