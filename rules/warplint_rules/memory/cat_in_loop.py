from __future__ import annotations

import ast

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Confidence, Hotness
from warplint.static.parsing.tree import FunctionNode, LoopNode, dotted, last_name, walk_scope
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint.static.tables.torch_methods import METADATA, SIZES
from warplint_rules._loops import loops_around
from warplint_rules._roles import QUIET_ROLES

JOINS = {f"torch.{name}" for name in ("cat", "concat", "concatenate", "hstack", "vstack")}
SMALL = Pattern(r"\w*(ids?|idx|ind(ex|ices)|masks?|masked|seqs?|sequences?|tokens?)|\w*_?(len|lengths?)")
"""Names of what grows by a few bytes a round: joining it costs next to nothing."""
CACHE = Pattern(r"(\w*_)?(caches?|k|keys?|kvs?|past|v|values?)(_\w+)?")
"""Names of caches of attention, which have a rule of their own."""
UPDATES = Pattern(r"_*(add|append|iteration_completed|update\w*)|__call__")
"""Methods of metrics and meters that are called once a batch."""
METERS = Pattern(r"\w*(Meter|Metric|Accumulator|Average)")
FEW = Pattern(r"\w*(block|branch|channel|head|layer|level|part|scale|split|stage)(s|es)?(_\w+)?|ch(_\w+)?")
"""What a loop over few rounds goes over, by name."""
OPEN = Pattern(r"\w*(frame|iter|max|step|time|token)\w*")
"""Bounds of loops with as many rounds as a result is long, by name."""
MANY_ROUNDS = frozenset(
    {"count", "log_every", "pbar", "progress_bar", "range", "timesteps", "tqdm", "trange"}
)
"""What a loop over steps, frames or batches goes over, by name."""


class CatInLoop(Rule):
    """A tensor grows by one `torch.cat` a round, which copies all that was collected before.

    ## Why is this slow?

    Each round allocates the whole result anew and copies what is there already: for n rounds that is about
    n²/2 parts copied where n would do, and twice the memory at the end. The allocator finds no block of the
    next size, and memory fragments. Appending to a list and one `torch.cat` after the loop copies everything
    once. Measured on an H200 with torch 2.11: 256 results of 64 rows took about 3.4 ms joined one after the
    other, and 0.11 ms at once.

    ## When it stays silent

    - when the loop reads what it collects (a decoder's input, skip connections): it is needed in each round;
    - in loops of few rounds: over layers, over the parts of a list;
    - when the tensor is set anew within the loop, or not before it;
    - for token numbers and masks, of which a round adds some bytes; for caches of attention;
    - outside code that runs each step, for metrics outside the method that is called once a batch.

    ## Fix safety

    There is no automatic fix: make it a list before the loop, `append` in the loop, `torch.cat` after it.

    ## Sources

    - measured on an H200, torch 2.11: `bench/results/h200/advice_gains.txt`
    - Project-MONAI/MONAI#305: a metric that joined its growing tensor every iteration
    """

    code = "WL613"
    name = "cat-in-loop"
    wants = wants(calls=JOINS)
    proof = Signature(At.LINE, Metric.MEMORY)
    risk = Risk.MEDIUM

    fires = (
        Example(
            "Outputs of a decoder, frame by frame, and of a loop over batches.",
            """\
import torch
from torch import nn


class Decoder(nn.Module):
    def infer(self, memory, max_steps):
        outputs = memory.new_zeros(0)
        frame = memory[0]
        for _ in range(max_steps):
            frame = self.decode(frame, memory)
            outputs = «torch.cat([outputs, frame], dim=0)»
        return outputs


def embed(model, loader):
    features = torch.empty(0, device="cuda")
    with torch.no_grad():
        for images in loader:
            features = «torch.cat((features, model(images.cuda())))»
    return features
""",
        ),
        Example(
            "A metric, once a batch.",
            """\
import torch
from ignite.metrics import Metric


class Curve(Metric):
    def reset(self):
        self.scores = torch.tensor([])

    def update(self, output):
        self.scores = «torch.cat([self.scores, output], dim=0)»
""",
        ),
    )

    quiet = (
        Example(
            "The loop reads what it collects.",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x, skips, steps):
        for up in self.ups:
            x = torch.cat((x, skips.pop()), dim=1)
            x = up(x)
        return x

    def generate(self, embeds, steps):
        for _ in range(steps):
            state = self.model(embeds)
            embeds = torch.cat([embeds, state[:, -1:]], dim=1)
        return embeds
""",
        ),
        Example(
            "Set anew in each round, token numbers, and a loop of few rounds.",
            """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x, steps):
        tokens = x.new_zeros(0)
        for _ in range(steps):
            z = torch.randn(4, 8, device=x.device)
            z = torch.cat([z, z], 0)
            y = self.model(z)
            tokens = torch.cat([tokens, y.argmax(-1)])
        joined = x
        for branch in self.branches:
            joined = torch.cat([joined, branch(x)], dim=1)
        return joined, tokens
""",
        ),
        Example(
            "Once, while loading.",
            """\
import torch


def load(files):
    rows = torch.empty(0)
    for _ in range(len(files)):
        rows = torch.cat([rows, torch.load(files.pop())])
    return rows
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        statement = facts.parent(node)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not node.args:
            return None
        grown = dotted(statement.targets[0])
        parts = node.args[0]
        if grown is None or not isinstance(parts, ast.List | ast.Tuple) or len(parts.elts) != 2:
            return None
        if [dotted(part) for part in parts.elts].count(grown) != 1:
            return None
        name = last_name(statement.targets[0])
        if SMALL.fullmatch(name) or CACHE.fullmatch(name):
            return None
        if not (_grows_in_loop(statement, grown, facts) or _grows_by_call(statement, grown, facts)):
            return None
        return Verdict(
            node,
            f"Each round copies all of `{grown}` to add one part to it. Append the parts to a list, and join "
            "them once at the end.",
            Confidence.LIKELY,
        )


def _grows_in_loop(statement: ast.Assign, grown: str, facts: Facts) -> bool:
    loops = loops_around(statement, facts)
    function = facts.function(statement)
    prepares = function is not None and function.role in QUIET_ROLES
    if not loops or prepares:
        return False
    loop = loops[0]
    if not isinstance(loop, LoopNode) or not _has_many_rounds(loop, facts.hotness(statement.value), facts):
        return False
    return "." not in grown and _only_collects(loop, statement, grown)


def _has_many_rounds(loop: LoopNode, hotness: Hotness, facts: Facts) -> bool:
    """Whether a loop counts, waits for something, or goes over batches: not over the parts of a list.

    Where nothing says how often the place runs, the loop itself must be one over steps, frames or tokens.
    """
    if isinstance(loop, ast.While):
        return hotness in (Hotness.STEP, Hotness.UNKNOWN)
    named = _named(loop.iter)
    if "len" in named or any(map(FEW.fullmatch, [*named, *_named(loop.target)])):
        return False
    counts = bool(MANY_ROUNDS.intersection(named))
    if hotness is Hotness.UNKNOWN:
        return counts and any(map(OPEN.fullmatch, named))
    return hotness is Hotness.STEP and (counts or facts.hotness(loop) is not Hotness.STEP)


def _named(node: ast.expr) -> list[str]:
    return [last_name(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)]


def _only_collects(loop: LoopNode, statement: ast.Assign, grown: str) -> bool:
    """Whether the loop neither reads what it collects nor sets it anew, except for the first round."""
    first_round = _firsts(loop, statement)
    own = set(ast.walk(statement))
    measured = {name for part in walk_scope(loop) for name in _measured(part)}
    for part in walk_scope(loop):
        if not isinstance(part, ast.Name) or part.id != grown or part in own or part in measured:
            continue
        if not (isinstance(part.ctx, ast.Store) and part in first_round):
            return False
    return True


def _measured(node: ast.AST) -> list[ast.expr]:
    """What a node only takes the shape of: ``x.shape``, ``x.size(0)``, ``len(x)``."""
    if isinstance(node, ast.Attribute) and node.attr in METADATA | SIZES:
        return [node.value]
    is_length = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    return list(node.args) if isinstance(node, ast.Call) and is_length else []


def _firsts(loop: LoopNode, statement: ast.Assign) -> set[ast.AST]:
    """The nodes of the other branch of the ``if`` that tells the first round: ``if first: x = part``."""
    for part in walk_scope(loop):
        if isinstance(part, ast.If) and (statement in part.orelse or statement in part.body):
            other = part.body if statement in part.orelse else part.orelse
            return {node for kept in other for node in ast.walk(kept)}
    return set()


def _grows_by_call(statement: ast.Assign, grown: str, facts: Facts) -> bool:
    """Whether an attribute grows in the method of a metric that is called once a batch."""
    function = facts.function(statement)
    if function is None or not isinstance(function.node, FunctionNode) or not grown.startswith("self."):
        return False
    is_meter = function.class_role == "metric" or METERS.fullmatch(function.class_name or "") is not None
    if not is_meter or UPDATES.fullmatch(function.name) is None:
        return False
    own = set(ast.walk(statement))
    others = (node for node in walk_scope(function.node) if node not in own)
    return not any(isinstance(node, ast.Subscript) and dotted(node.value) == grown for node in others)
