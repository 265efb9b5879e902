from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from warplint.source.pattern import Pattern
from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence, Severity
from warplint.static.parsing.tree import FunctionNode
from warplint.static.rules.rule import (
    At,
    Example,
    Metric,
    Rewrite,
    Risk,
    Rule,
    Signature,
    TorchVersion,
    Verdict,
    wants,
)
from warplint_rules._calls import has_unpacking
from warplint_rules.precision._amp import OLD, misuse

if TYPE_CHECKING:
    import libcst as cst

PARAMETERS = {
    "autocast": ("enabled", "dtype", "cache_enabled"),
    "GradScaler": ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled"),
    "custom_fwd": ("fwd",),
    "custom_bwd": ("bwd",),
}
"""What was moved to ``torch.amp``, with the names of its parameters in order."""
DECORATORS = {"custom_fwd", "custom_bwd"}
MODULES = {"GradScaler": "grad_scaler.", "autocast": "autocast_mode.", **dict.fromkeys(DECORATORS, "")}
VERSION = Pattern(r"version|hasattr|torch_?(ge|greater|gte|\d|old|new|has)|\d_\d", re.IGNORECASE)
"""What a test mentions that asks which PyTorch there is."""


class CudaAmpNames(Rule):
    """`torch.cuda.amp` is the deprecated name of `torch.amp`.

    ## Why is this slow?

    It is not: both names run the same code. Since PyTorch 2.4 the old one prints a `FutureWarning` and is due
    to go; `torch.amp.autocast("cuda")` and `torch.amp.GradScaler("cuda")` take its place.

    ## When it stays silent

    - where the old name is the way out for an old PyTorch: in an `except` block, or in a branch that asks for
      the version or for an attribute;
    - for names that are imported or handed on without being called, and for calls that fail (WL405).

    Decorators are reported, but not rewritten.

    ## Fix safety

    Safe for `autocast`: the new one does the same with the same settings. Unsafe for `GradScaler`: the old
    class derives from the new one, so that `isinstance(scaler, torch.cuda.amp.GradScaler)` no longer holds.
    Arguments given by position get their names. The new names need PyTorch 2.4 or newer
    (`torch.amp.autocast` 1.10, `torch.amp.GradScaler` 2.3).

    ## Sources

    - torch.cuda.amp, "deprecated"
    - meta-pytorch/torchfix, TOR101
    """

    code = "WL406"
    name = "cuda-amp-namespace"
    wants = wants(
        calls=[f"{OLD}{name}" for name in PARAMETERS]
        + [f"{OLD}{module}{name}" for name, module in MODULES.items() if module]
    )
    proof = Signature(At.RUN, Metric.NONE)
    risk = Risk.LOW
    since = TorchVersion(2, 4)
    severity = Severity.HINT

    fires = (
        Example(
            "Context and scaler by their old names.",
            """\
import torch


def train(model, loader, optimizer, use_amp):
    scaler = «torch.cuda.amp.GradScaler(enabled=use_amp)»
    for images in loader:
        with «torch.cuda.amp.autocast(use_amp)»:
            loss = model(images).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
""",
            """\
import torch


def train(model, loader, optimizer, use_amp):
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)
    for images in loader:
        with torch.amp.autocast("cuda", enabled=use_amp):
            loss = model(images).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
""",
        ),
        Example(
            "Imported by name, with settings by position.",
            """\
from torch.cuda.amp import GradScaler, autocast
import torch

scaler = «GradScaler(1024.0)»


def double(ctx, x):
    with «autocast(True, torch.bfloat16)»:
        return x + x
""",
            """\
from torch.cuda.amp import GradScaler, autocast
import torch

scaler = torch.amp.GradScaler("cuda", 1024.0)


def double(ctx, x):
    with torch.amp.autocast("cuda", enabled=True, dtype=torch.bfloat16):
        return x + x
""",
        ),
        Example(
            "As decorators.",
            """import torch
from torch.cuda.amp import autocast, custom_fwd


@«autocast()»
def forward(model, x):
    return model(x)


@«custom_fwd(cast_inputs=torch.float16)»
def double(ctx, x):
    return x + x
""",
        ),
    )

    quiet = (
        Example(
            "The new names.",
            """\
import torch
from torch.amp import GradScaler

scaler = GradScaler("cuda")
context = torch.amp.autocast("cuda", dtype=torch.bfloat16)
other = torch.autocast("cuda")
""",
        ),
        Example(
            "The old name for an old PyTorch.",
            """\
import torch

TORCH_2_4 = torch.__version__ >= "2.4"

try:
    scaler = torch.amp.GradScaler("cuda")
except AttributeError:
    scaler = torch.cuda.amp.GradScaler()

other = torch.amp.GradScaler("cuda") if TORCH_2_4 else torch.cuda.amp.GradScaler()


def context(is_torch_version):
    if is_torch_version(">=", "2.3"):
        return torch.amp.autocast("cuda")
    else:
        return torch.cuda.amp.autocast()


def also(device):
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(device)
    return torch.cuda.amp.GradScaler()
""",
        ),
        Example(
            "Imported under one name from where it is found.",
            """\
try:
    from torch.amp import autocast
except ImportError:
    from torch.cuda.amp import autocast

context = autocast("cuda")
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        if _is_fallback(node, facts) or misuse(node, facts) is not None:
            return None
        name = _old_name(node, facts)
        fixable = (
            not has_unpacking(node)
            and len(node.args) <= len(PARAMETERS[name])
            and not isinstance(facts.parent(node), FunctionNode)
        )
        applicability = Applicability.UNSAFE if name == "GradScaler" else Applicability.SAFE
        return Verdict(
            node,
            f"`torch.cuda.amp.{name}` is deprecated since PyTorch 2.4 and warns when it runs. "
            f"`torch.amp.{name}` does the same, and is told the device: `{_new_start(name)}`.",
            Confidence.CERTAIN,
            applicability if fixable else Applicability.NONE,
            f"Use torch.amp.{name}" if fixable else "",
        )

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        import libcst as cst

        assert isinstance(node, cst.Call) and isinstance(site, ast.Call), "a site is a call"
        name = _old_name(site, facts)
        given = list(node.args)
        if name != "GradScaler":
            given = [_named(argument, PARAMETERS[name][at]) for at, argument in enumerate(given)]
        device = cst.Arg(cst.SimpleString('"cuda"'))
        if given:
            device = device.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        function = cst.parse_expression(f"torch.amp.{name}")
        return Rewrite(node.with_changes(func=function, args=[device, *given]), ("torch",))


def _old_name(call: ast.Call, facts: Facts) -> str:
    qualified = facts.qualified(call.func)
    assert qualified is not None, "the rule wants qualified names"
    return qualified.rpartition(".")[2]


def _new_start(name: str) -> str:
    device = 'device_type="cuda"' if name in DECORATORS else '"cuda"'
    return f"torch.amp.{name}({device}, …)"


def _named(argument: cst.Arg, name: str) -> cst.Arg:
    """An argument with its name, where it was given by position."""
    import libcst as cst

    if argument.keyword is not None:
        return argument
    none = cst.SimpleWhitespace("")
    return argument.with_changes(keyword=cst.Name(name), equal=cst.AssignEqual(none, none))


def _is_fallback(node: ast.expr, facts: Facts) -> bool:
    """Whether the place runs only with an old PyTorch."""
    below: ast.AST = node
    above = facts.parent(node)
    while above is not None:
        if isinstance(above, ast.ExceptHandler):
            return True
        if isinstance(above, ast.If | ast.IfExp) and below is not above.test and _asks_version(above.test):
            return True
        body = getattr(above, "body", None)
        if isinstance(body, list) and below in body and _left_for_newer(body[: body.index(below)]):
            return True
        below, above = above, facts.parent(above)
    return False


def _left_for_newer(before: list[ast.stmt]) -> bool:
    """Whether a newer PyTorch has left by one of the statements before: ``if hasattr(…): return …``."""
    return any(
        isinstance(statement, ast.If)
        and _asks_version(statement.test)
        and isinstance(statement.body[-1], ast.Return | ast.Raise)
        for statement in before
    )


def _asks_version(test: ast.expr) -> bool:
    return VERSION.search(ast.unparse(test)) is not None
