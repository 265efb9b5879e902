from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence
from warplint.static.inference.arguments import is_off
from warplint.static.rules.rule import At, Example, Metric, Rewrite, Risk, Rule, Signature, Verdict, wants
from warplint.static.structure.location import is_aside
from warplint_rules._calls import has_unpacking, keyword, with_keyword
from warplint_rules.frameworks._trainers import TRAINING_ARGUMENTS

if TYPE_CHECKING:
    import libcst as cst

WORKERS = "dataloader_num_workers"
ON_THE_FLY = ("set_transform", "with_transform")
"""Methods of data sets that have samples decoded or changed when they are read."""


class TrainerWithoutWorkers(Rule):
    """Transformers' Trainer decodes its samples in the training process.

    ## Why is this slow?

    `dataloader_num_workers` is 0 by default: each batch is read and collated by the process that drives the
    GPU, which has nothing to do meanwhile. For tokens in memory that hardly matters. With `set_transform` or
    `with_transform`, images are decoded, or texts changed, for each batch anew. Measured on an H200 with
    torch 2.11: an epoch of 20 batches that have to be computed took 1.21 s without workers and 0.35 s with 8.

    ## When it stays silent

    - where no data set of the file transforms samples as they are read;
    - where the number of workers is given, or may be among `**kwargs`, and in tests.

    ## Fix safety

    Unsafe: workers draw random numbers of their own, and take memory. The fix writes 4, which hides decoding
    behind the step in most programs; a capture shows whether the GPU still waits for data.

    ## Sources

    - transformers/training_args.py, `dataloader_num_workers`: "0 means that the data will be loaded in the
      main process"
    - Datasets documentation, `set_transform`: the transform is applied on the fly
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL912"
    name = "trainer-without-workers"
    wants = wants(calls=TRAINING_ARGUMENTS)
    proof = Signature(At.RUN, Metric.DATA_IDLE)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "Images that are decoded as they are read.",
            """\
from datasets import load_dataset
from transformers import Trainer, TrainingArguments


def main(model, decode):
    photos = load_dataset("beans", split="train").with_transform(decode)
    arguments = «TrainingArguments("out", fp16=True, remove_unused_columns=False)»
    Trainer(model, arguments, train_dataset=photos).train()
""",
            """\
from datasets import load_dataset
from transformers import Trainer, TrainingArguments


def main(model, decode):
    photos = load_dataset("beans", split="train").with_transform(decode)
    arguments = TrainingArguments("out", fp16=True, remove_unused_columns=False, dataloader_num_workers=4)
    Trainer(model, arguments, train_dataset=photos).train()
""",
        ),
    )

    quiet = (
        Example(
            "Tokens in memory.",
            """\
from datasets import load_dataset
from transformers import Trainer, TrainingArguments


def main(model, tokenize):
    texts = load_dataset("imdb", split="train").map(tokenize, batched=True)
    Trainer(model, TrainingArguments("out", fp16=True), train_dataset=texts).train()
""",
        ),
        Example(
            "With workers.",
            """\
from transformers import Trainer, TrainingArguments


def main(model, photos, decode, options):
    photos.set_transform(decode)
    one = TrainingArguments("out", dataloader_num_workers=options.workers)
    Trainer(model, one, train_dataset=photos).train()
    Trainer(model, TrainingArguments("out", **options), train_dataset=photos).train()
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        given = keyword(node, WORKERS)
        if has_unpacking(node) or is_aside(facts.path) or (given is not None and not is_off(given)):
            return None
        if not facts.is_called("train") or not facts.calls_any(ON_THE_FLY):
            return None
        return Verdict(
            node,
            f"Samples are transformed as they are read, in the process that drives the GPU: set `{WORKERS}`.",
            Confidence.LIKELY,
            Applicability.UNSAFE,
            f"Set `{WORKERS}=4`",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call)
        return Rewrite(with_keyword(node, WORKERS, cst.Integer("4")))
