from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.rules.rule import (
    At,
    Example,
    Metric,
    Risk,
    Rule,
    Signature,
    TorchVersion,
    Verdict,
    wants,
)
from warplint_rules._text import short
from warplint_rules.precision._training_script import MATRIX_MODELS, moves_model_of_script


class FullPrecisionMatmul(Rule):
    """A script trains on the GPU with matrix products in full float32, and never says so.

    ## Why is this slow?

    By default PyTorch multiplies float32 matrices without the Tensor Cores. Since Ampere they take float32 as
    TF32: the same range, and 10 bits of mantissa for the factors, with sums in float32. One line switches
    them on: `torch.set_float32_matmul_precision("high")`. Models of attention and linear layers spend most of
    their time there. Measured on an H200 with torch 2.11: a training step of 6 encoder layers took 191 ms by
    default, 70 ms in TF32, and 29 ms in bfloat16 under `torch.autocast`.

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
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL401"
    name = "full-precision-matmul"
    wants = wants(methods={"to", "cuda"})
    proof = Signature(At.RUN, Metric.FLOAT32_PRODUCTS)
    risk = Risk.HIGH
    since = TorchVersion(1, 12)
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
        if not moves_model_of_script(node, facts) or not facts.mentions(MATRIX_MODELS):
            return None
        return Verdict(
            node,
            f"After `{short(node)}` the model trains with matrix products in full float32, without the "
            'Tensor Cores. `torch.set_float32_matmul_precision("high")` at the start lets it use TF32.',
            Confidence.LIKELY,
        )
