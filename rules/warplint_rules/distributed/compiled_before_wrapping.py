from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Severity
from warplint.static.rules.rule import At, Example, Metric, Related, Risk, Rule, Signature, Verdict, wants
from warplint_rules._calls import argument
from warplint_rules.distributed._wrapping import DDP


class CompiledBeforeWrapping(Rule):
    """A model is compiled first and wrapped in `DistributedDataParallel` then.

    ## Why is this slow?

    DDP overlaps summing gradients with the backward pass: a bucket is sent as soon as its gradients are
    there. Where the compiled module is inside, its backward pass is one piece, and all gradients arrive at
    its end. Compiled from outside, the graph is split at the buckets (`torch._dynamo.config.optimize_ddp`),
    and sending starts while the rest is still computed.

    This is a hint: how much it is worth depends on how long sending takes beside the backward pass, and
    cutting the graph costs a little. Little is gained on one machine with fast links and a small model.

    ## When it stays silent

    - where only parts of the model are compiled: each part is a piece of its own then;
    - where the model comes from a function or an attribute: how it was made does not show.

    ## Fix safety

    There is no automatic fix: exchange the two lines. State dictionaries get other prefixes (`module.` and
    `_orig_mod.` change places), which loading code may rely on.

    ## Sources

    - documentation of `DistributedDataParallel`: wrap the model before compiling it
    - PyTorch documentation, "DDPOptimizer"
    """

    code = "WL704"
    name = "compiled-before-wrapping"
    wants = wants(calls={DDP})
    proof = Signature(At.RUN, Metric.COMMUNICATION)
    risk = Risk.MEDIUM
    severity = Severity.HINT

    fires = (
        Example(
            "Compiled on the line before, and inside the call.",
            """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(model, other, args):
    if args.compile:
        model = torch.compile(model)
    model = «DDP(model, device_ids=[args.rank])»
    return model, «DDP(torch.compile(other))»
""",
        ),
    )

    quiet = (
        Example(
            "Wrapped first, or compiled in parts.",
            """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(model, args):
    model = DDP(model, device_ids=[args.rank])
    return torch.compile(model)


def wrap_parts(model):
    for index, layer in enumerate(model.layers):
        model.layers[index] = torch.compile(layer)
    model.head = torch.compile(model.head)
    return DDP(model)
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        model = argument(node, 0, "module")
        if model is None:
            return None
        compiled = next(
            (made for made in (model, *facts.sources(model)) if _is_compiled(made, facts)),
            None,
        )
        if compiled is None:
            return None
        return Verdict(
            node,
            "The model is compiled before it is wrapped, so all its gradients arrive at the end of the "
            "backward pass, and sending them overlaps with nothing. Wrap it first, then compile.",
            Confidence.LIKELY,
            related=(Related(facts.span(compiled), "compiled here"),),
        )


def _is_compiled(node: ast.expr, facts: Facts) -> bool:
    return isinstance(node, ast.Call) and facts.qualified(node.func) == "torch.compile"
