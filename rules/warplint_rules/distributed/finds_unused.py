from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import has_unpacking, is_set, keyword
from warplint_rules.distributed._wrapping import DDP

OPTION = "find_unused_parameters"


class FindsUnusedParameters(Rule):
    """DDP is told to look for parameters without gradients in every step, which few models have.

    ## Why is this slow?

    With `find_unused_parameters=True`, DDP walks the whole graph of every forward pass on the host before the
    backward pass can start, and marks what it did not find. Nothing is gained where all parameters take part
    in the loss: DDP itself warns so after the first step ("… did not find any unused parameters").

    This is a hint. It costs little where the GPU is busy: measured on two H200 with torch 2.11, a step of 12
    encoder layers took as long with it as without. And whether a model leaves out parameters cannot be told
    from one file: many authors set the option because DDP failed without it. Take it out, or run one step
    with `TORCH_DISTRIBUTED_DEBUG=DETAIL`, which names the parameters that got no gradient.

    ## When it stays silent

    - where the option is a variable, or false;
    - with `static_graph=True`: then the graph is searched once.

    ## Fix safety

    There is no automatic fix: a model with parameters that take no part in the loss then fails. Freeze what
    is never trained (`requires_grad_(False)` before wrapping), or use `static_graph=True` where the same
    parameters are left out in every step.

    ## Sources

    - documentation of `torch.nn.parallel.DistributedDataParallel`, `find_unused_parameters`
    - facebookresearch/swav#63: on although the authors confirm that none are unused
    - huggingface/diffusers e140c056: set because DDP failed without it
    - measured on two H200, torch 2.11: `bench/results/h200/distributed_gains.txt`
    """

    code = "WL702"
    name = "finds-unused-parameters"
    wants = wants(
        calls={
            DDP,
            "accelerate.DistributedDataParallelKwargs",
            "accelerate.utils.DistributedDataParallelKwargs",
        }
    )
    proof = Signature(At.RUN, Metric.HOST_TIME)
    risk = Risk.LOW
    severity = Severity.HINT

    fires = (
        Example(
            "Written out.",
            """\
from accelerate import DistributedDataParallelKwargs
from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(model, rank):
    options = «DistributedDataParallelKwargs(find_unused_parameters=True)»
    return «DDP(model, device_ids=[rank], find_unused_parameters=True)», options
""",
        ),
    )

    quiet = (
        Example(
            "Off, a variable, or searched once.",
            """\
from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(model, rank, args, options):
    first = DDP(model, device_ids=[rank], find_unused_parameters=False)
    second = DDP(model, device_ids=[rank], find_unused_parameters=args.find_unused)
    third = DDP(model, find_unused_parameters=True, static_graph=True)
    return first, second, third, DDP(model, find_unused_parameters=True, **options), DDP(model)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        given = keyword(node, OPTION)
        if not isinstance(given, ast.Constant) or given.value is not True:
            return None
        if has_unpacking(node) or is_set(node, "static_graph"):
            return None
        return Verdict(
            node,
            f"`{OPTION}=True` searches the graph of every step on the host. Leave it out if all parameters "
            "take part in the loss: DDP warns after the first step where they do.",
            Confidence.POSSIBLE,
        )
