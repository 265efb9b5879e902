from __future__ import annotations

import ast

from warplint.static.facts import Facts
from warplint.static.finding import Confidence
from warplint.static.rules.rule import At, Example, Metric, Risk, Rule, Signature, Verdict, wants
from warplint_rules.settings._left_on import is_asked_for


class CompileErrorsSuppressed(Rule):
    """What cannot be compiled runs uncompiled, and nobody is told.

    ## Why is this slow?

    With `torch._dynamo.config.suppress_errors = True` a function that `torch.compile` fails on runs as if it
    had not been compiled. The program seems to work, at the speed of eager mode plus the time spent trying.
    PyTorch's documentation asks to use it as a stop-gap while an error is being reported.

    ## When it stays silent

    - behind a condition, in an `except` handler, and for a value that is a variable;
    - in functions and files that are named for tests or debugging.

    ## Fix safety

    There is no automatic fix: without the line, what cannot be compiled stops the program. Keep that part out
    on purpose with `@torch.compiler.disable`.

    ## Sources

    - torch/_dynamo/config.py: "suppress errors"
    - PyTorch documentation, "torch.compile Troubleshooting"
    """

    code = "WL536"
    name = "compile-errors-suppressed"
    wants = wants(settings=["torch._dynamo.config.suppress_errors"])
    proof = Signature(At.RUN, Metric.KERNEL_TIME)
    risk = Risk.MEDIUM
    preview = True

    fires = (
        Example(
            "At the top of a script.",
            """\
import torch
import torch._dynamo

«torch._dynamo.config.suppress_errors» = True
""",
        ),
        Example(
            "Inside a function that switches compiling on.",
            """\
import torch


def compiled(model, wanted):
    if torch.cuda.is_available():
        import torch._dynamo as dynamo

        «dynamo.config.suppress_errors» = True
    return torch.compile(model)
""",
        ),
    )

    quiet = (
        Example(
            "On request, or off.",
            """\
import torch


def main(args):
    torch._dynamo.config.suppress_errors = False
    torch._dynamo.config.suppress_errors = args.lenient
    if args.lenient:
        torch._dynamo.config.suppress_errors = True
""",
        ),
    )

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        statement = facts.statement(node)
        is_on = isinstance(statement, ast.Assign) and (
            isinstance(statement.value, ast.Constant) and statement.value.value is True
        )
        if not is_on or is_asked_for(node, facts):
            return None
        return Verdict(
            node,
            "What fails to compile runs at eager speed, and nobody is told. Keep such a part out on purpose "
            "with `@torch.compiler.disable`.",
            Confidence.CERTAIN,
        )
