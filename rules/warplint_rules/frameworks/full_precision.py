from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.structure.location import is_aside
from warplint_rules._calls import has_unpacking, keyword, with_keyword
from warplint_rules.frameworks._trainers import LIGHTNING_TRAINERS, TRAINING_ARGUMENTS

if TYPE_CHECKING:
    import libcst as cst

DECIDED = (
    "accelerator_config", "bf16", "bf16_full_eval", "deepspeed", "fast_dev_run", "fp16", "fsdp",
    "fsdp_config", "no_cuda", "plugins", "precision", "tf32", "tpu_cores", "use_cpu",
    "use_mps_device",
)  # fmt: skip
"""Arguments that choose a precision, hand the choice to another configuration, or leave no GPU."""

LOW = (
    "BitsAndBytesConfig", "bfloat16", "half", "prepare_model_for_int8_training",
    "prepare_model_for_kbit_training", "set_float32_matmul_precision",
)  # fmt: skip
"""Calls that show that the program works in a lower precision, or that matrices are multiplied in TF32."""
LOW_KEYWORDS = ("dtype", "load_in_4bit", "load_in_8bit", "torch_dtype")

EVALUATING = {"evaluate", "predict", "test", "validate"}
TRAINING = {"fit", "train", "tune"}
HOST_ACCELERATORS = {"cpu", "hpu", "mps", "tpu", "xla"}


class TrainerInFullPrecision(Rule):
    """A trainer is set up without mixed precision: it trains in 32 bits.

    ## Why is this slow?

    Transformers' `Trainer` and Lightning's `Trainer` compute in float32 unless asked otherwise. PyTorch then
    multiplies matrices without Tensor Cores; only convolutions use them, as TF32. Measured on an H200 with
    torch 2.11: a training step of 6 encoder layers took 191 ms in float32, 70 ms in TF32 and 29 ms in mixed
    precision, which took 4.4 GB instead of 7.6 GB as well.

    ## When it stays silent

    - where a precision is chosen, or the strategy, DeepSpeed, FSDP or `**kwargs` may choose it;
    - where the file loads a model in a lower precision or quantised, or asks for TF32;
    - for CPUs, TPUs and trial runs (`fast_dev_run`), for trainers that only test, in tests, and where the
      arguments are parsed from the command line.

    ## Fix safety

    Unsafe: bfloat16 has 8 bits of precision, so that losses differ in the third digit, and needs a GPU since
    Ampere. The usual fine-tuning of transformers and most vision models are trained in it; solvers and
    physics may need float32. `torch.set_float32_matmul_precision("high")` is the smaller step.

    ## Sources

    - Transformers documentation, "GPU", mixed precision; Lightning documentation, "N-bit precision"
    - PyTorch performance tuning guide, "Enable Tensor cores"
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL911"
    name = "trainer-in-full-precision"
    wants = wants(calls=TRAINING_ARGUMENTS | LIGHTNING_TRAINERS)
    proof = Signature(At.RUN, Metric.WIDE_PRODUCTS)
    risk = Risk.HIGH

    fires = (
        Example(
            "Transformers.",
            """\
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
arguments = «TrainingArguments("out", per_device_train_batch_size=16)»
Trainer(model, arguments).train()
""",
            """\
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
arguments = TrainingArguments("out", per_device_train_batch_size=16, bf16=True)
Trainer(model, arguments).train()
""",
        ),
        Example(
            "Lightning.",
            """\
import lightning as L
import torch


def main(model, data):
    trainer = «L.Trainer(
        accelerator="gpu",
        max_epochs=10,
    )»
    trainer.fit(model, data)
""",
            """\
import lightning as L
import torch


def main(model, data):
    trainer = L.Trainer(
        accelerator="gpu",
        max_epochs=10,
        precision="bf16-mixed",
    )
    trainer.fit(model, data)
""",
        ),
    )

    quiet = (
        Example(
            "A precision is chosen, or may be.",
            """\
from transformers import TrainingArguments


def arguments(options):
    one = TrainingArguments("out", bf16=True)
    two = TrainingArguments("out", fp16=options.half)
    three = TrainingArguments("out", deepspeed="zero.json")
    return one, two, three, TrainingArguments(**options)
""",
        ),
        Example(
            "The model is loaded in 16 bits.",
            """\
import torch
from transformers import AutoModelForCausalLM, TrainingArguments


def load(name):
    return AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)


arguments = TrainingArguments("out", per_device_train_batch_size=4)
""",
        ),
        Example(
            "TF32 is asked for.",
            """\
import pytorch_lightning as pl
import torch

torch.set_float32_matmul_precision("high")


def main(model):
    pl.Trainer(max_epochs=10).fit(model)
""",
        ),
        Example(
            "On the CPU, to try it out, and to test only.",
            """\
import pytorch_lightning as pl


def main(model):
    pl.Trainer(accelerator="cpu", max_epochs=10).fit(model)
    pl.Trainer(fast_dev_run=True).fit(model)


def score(model, checkpoint):
    tester = pl.Trainer(resume_from_checkpoint=checkpoint)
    tester.test(model)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        is_lightning = facts.qualified(node.func) in LIGHTNING_TRAINERS
        if has_unpacking(node) or is_aside(facts.path):
            return None
        if any(keyword(node, name) is not None for name in DECIDED) or _is_elsewhere(node):
            return None
        if facts.calls_any(LOW) or any(map(facts.is_given, LOW_KEYWORDS)):
            return None
        if not facts.is_called("fit" if is_lightning else "train") or _only_evaluates(node, facts):
            return None
        name, value = _wanted(node, is_lightning)
        wanted = f"{name}={value}"
        return Verdict(
            node,
            "This trains in float32: matrix products do not use the GPU's Tensor Cores (a transformer's step "
            f"took 191 ms instead of 29 on an H200). Ask for `{wanted}`, or for TF32.",
            Confidence.LIKELY,
            Applicability.UNSAFE,
            f"Add `{wanted}`",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call) and isinstance(site, ast.Call)
        name, value = _wanted(site, facts.qualified(site.func) in LIGHTNING_TRAINERS)
        return Rewrite(with_keyword(node, name, cst.parse_expression(value)))


def _wanted(call: ast.Call, is_lightning: bool) -> tuple[str, str]:
    """The argument that asks for mixed precision. ``gpus`` is of Lightning before 2.0, which spells it so."""
    if not is_lightning:
        return "bf16", "True"
    return "precision", "16" if keyword(call, "gpus") is not None else '"bf16-mixed"'


def _only_evaluates(call: ast.Call, facts: Facts) -> bool:
    """Whether a trainer is put under a name with which the code around it tests, and does not train."""
    statement = facts.statement(call)
    if not isinstance(statement, ast.Assign):
        return False
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    around = facts.parent(statement)
    while around is not None:
        used = {
            part.attr
            for part in ast.walk(around)
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in names
        }
        if used & (EVALUATING | TRAINING):
            return not used & TRAINING
        around = facts.parent(around)
    return False


def _is_elsewhere(call: ast.Call) -> bool:
    """Whether there is no GPU, or a strategy other than plain DDP may choose the precision."""
    accelerator, strategy = keyword(call, "accelerator"), keyword(call, "strategy")
    if isinstance(accelerator, ast.Constant) and accelerator.value in HOST_ACCELERATORS:
        return True
    is_plain = isinstance(strategy, ast.Constant) and str(strategy.value).startswith(("auto", "ddp", "None"))
    return strategy is not None and not is_plain
