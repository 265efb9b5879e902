from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._text import short
from warplint_rules.precision._training_script import MATRIX_MODELS, moves_model_of_script

CONVOLUTIONS = r"(?i)conv[23]d|resnet|unet|densenet|torchvision\.models|\btimm\b|\bvgg|backbone"
DELICATE = r"(?i)\bgan\b|generator|discriminator|adversar|physics|\bpinn\b|laplac"
"""Training that is known to lose its balance in lower precision."""


class MissingAutocast(Rule):
    """A convolutional network trains in float32, without mixed precision.

    ## Why is this slow?

    With `torch.autocast("cuda", dtype=torch.bfloat16)` around forward pass and loss, convolutions and matrix
    products run on the Tensor Cores in bfloat16 and move half the bytes; PyTorch's tuning guide speaks of up
    to three times the speed. bfloat16 has the range of float32, so it needs no `GradScaler`. Measured on an
    H200 with torch 2.11, on a model of attention: a training step of 6 encoder layers is 2.4 times as fast as
    in TF32. Small networks, and programs that wait for data, gain nothing.

    ## When it stays silent

    - in files that choose a precision anywhere, or leave it to a framework;
    - outside scripts, and without a backward pass;
    - on models of attention, on which WL401 reports;
    - on adversarial and physics-informed training, which lower precision can upset.

    ## Fix safety

    There is no automatic fix: results differ, and whether they are as good only a training run can tell.

    ## Sources

    - PyTorch performance tuning guide, "Enable mixed precision"
    - torch.amp, "Automatic Mixed Precision package"
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL402"
    name = "missing-autocast"
    wants = wants(methods={"to", "cuda"})
    proof = Signature(At.RUN, Metric.WIDE_PRODUCTS)
    risk = Risk.MEDIUM
    severity = Severity.HINT
    preview = True

    fires = (
        Example(
            "A network of convolutions, trained in float32.",
            """\
import torch
import torchvision


def main(loader):
    model = torchvision.models.resnet50()
    model = «model.cuda()»
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(load())
""",
        ),
    )

    quiet = (
        Example(
            "Mixed precision at choice.",
            """\
import torch
import torchvision


def main(loader, use_amp):
    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for images in loader:
        with torch.autocast("cuda", enabled=use_amp):
            loss = model(images.cuda()).mean()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(load(), True)
""",
        ),
        Example(
            "Two networks that play against each other.",
            """\
import torch
from models import ResNetGenerator, ResNetDiscriminator


def main(loader):
    generator = ResNetGenerator().cuda()
    discriminator = ResNetDiscriminator().cuda()
    for images in loader:
        discriminator(generator(images)).mean().backward()


if __name__ == "__main__":
    main(load())
""",
        ),
        Example(
            "Evaluation only.",
            """\
import torch
import torchvision


def main(loader):
    model = torchvision.models.resnet50().cuda()
    for images in loader:
        print(model(images))


if __name__ == "__main__":
    main(load())
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if not moves_model_of_script(node, facts) or not facts.mentions(CONVOLUTIONS):
            return None
        if facts.mentions(MATRIX_MODELS) or facts.mentions(DELICATE):
            return None
        return Verdict(
            node,
            f"After `{short(node)}` the model trains in float32. Where the GPU is the limit, "
            '`torch.autocast("cuda", dtype=torch.bfloat16)` around forward pass and loss is worth a try.',
            Confidence.LIKELY,
        )
