from __future__ import annotations

import ast
import re

from warplint.static.facts import Facts, FunctionFacts
from warplint.static.finding import Confidence, Severity
from warplint.static.parsing.tree import last_name
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables import frequency
from warplint.static.values import Kind, Place, Value
from warplint_rules._text import short
from warplint_rules.data._source import FETCHERS

COLLATING = re.compile(r"\w*collat(e|er|or)\w*")
HOLDERS = (Kind.TENSOR, Kind.SEQUENCE, Kind.UNKNOWN)


class DeviceTensorInWorker(Rule):
    """A data set or a `collate_fn` moves its samples to the GPU.

    ## Why is this slow?

    This code runs in the workers of the loader. A worker that is forked cannot use CUDA at all ("Cannot
    re-initialize CUDA in forked subprocess"); one that is spawned holds a CUDA context of several hundred
    megabytes of its own, and hands over tensors that must be kept alive until they are used. So such a loader
    stays without workers, and each sample or batch is copied from pageable memory, in the training process,
    while the GPU waits.

    What it costs are the workers. Measured on an H200 with torch 2.11: an epoch of 20 batches that have to be
    computed took 1.21 s without workers and 0.35 s with 8. To copy samples one by one costs nothing by
    itself: without workers, 128 samples took 17 ms that way, and 33 ms stacked on the CPU and copied at once.
    So a data set that is in memory, and whose loader needs no workers, can leave it as it is.

    ## When it stays silent

    - for a target that is the CPU, or the device of another tensor of the sample;
    - in classes that are no data set, and functions that do not collate;
    - when the device is not known to be a GPU.

    ## Fix safety

    There is no automatic fix: the move belongs into the training loop, beside the loader that pins.

    ## Sources

    - torch.utils.data, "Multi-process data loading" (the note on CUDA tensors)
    - CUDA semantics, "Best practices"
    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    """

    code = "WL304"
    name = "device-tensor-in-worker"
    wants = wants(methods={"to", "cuda"})
    proof = Signature(At.LINE, Metric.PAGEABLE_COPY)
    risk = Risk.MEDIUM
    severity = Severity.INFO
    preview = True

    fires = (
        Example(
            "A data set hands out GPU tensors.",
            """\
import torch
from torch.utils.data import Dataset


class Photos(Dataset):
    def __init__(self, images, device):
        self.images = images
        self.device = device

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index])
        return «image.to(self.device)», «torch.tensor(index).cuda()»
""",
        ),
        Example(
            "The batch is moved where it is put together.",
            """\
import torch
from torch.utils.data import DataLoader


def collate_texts(batch, device="cuda"):
    return «torch.stack(batch).to(device)»


def loader(texts):
    return DataLoader(texts, batch_size=8, collate_fn=collate_texts)
""",
        ),
    )

    quiet = (
        Example(
            "Samples stay on the host, or where they are.",
            """\
import torch
from torch.utils.data import Dataset


class Photos(Dataset):
    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index])
        mean = self.mean.to(image.device)
        return (image - mean).to(torch.float16), image.to("cpu")


def collate(batch):
    return torch.stack(batch).to(torch.int64)
""",
        ),
        Example(
            "No data set: a structure of tensors that can be indexed.",
            """\
import torch


class Boxes:
    def __getitem__(self, index):
        return self.tensor[index.to(self.tensor.device)].cuda()


def collate(samples, eos):
    for sample in samples:
        eos = eos.to(device=sample["source"].device)
    return eos
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        function = facts.function(node)
        if function is None or not _prepares_samples(function, facts) or _stays_beside(node):
            return None
        if facts.value(node.func.value).kind not in HOLDERS or not _is_on_gpu(facts.value(node)):
            return None
        return Verdict(
            node,
            f"`{short(node)}` in {function.name} copies to the GPU from pageable memory, and keeps the "
            "loader from using workers. Move the batch in the training loop.",
            Confidence.LIKELY,
        )


def _prepares_samples(function: FunctionFacts, facts: Facts) -> bool:
    """Whether the loader's workers run a function: it fetches samples of a data set, or collates them."""
    if function.name in FETCHERS:
        owner = facts.parent(function.node)
        return isinstance(owner, ast.ClassDef) and any("Dataset" in last_name(base) for base in owner.bases)
    return COLLATING.fullmatch(function.name) is not None and function.class_role != "module"


def _stays_beside(move: ast.Call) -> bool:
    """Whether a tensor only follows another one of the sample: ``x.to(item["source"].device)``."""
    given = [*move.args, *(word.value for word in move.keywords)]
    return any(
        isinstance(device, ast.Attribute)
        and device.attr == "device"
        and frequency.MODEL.fullmatch(last_name(device.value)) is None
        and last_name(device.value) != "self"
        for device in given
    )


def _is_on_gpu(value: Value) -> bool:
    """Whether a value was moved to a GPU, and not beside another tensor."""
    part = value.element if value.kind is Kind.SEQUENCE else value
    if part is None or part.kind is not Kind.TENSOR or part.like is not None:
        return False
    return part.place in (Place.ACCELERATOR, Place.LIKELY_ACCELERATOR)
