"""Rules that report every site they are shown, to see what the engine shows and keeps."""

from __future__ import annotations

import ast
from pathlib import Path

from warplint.source.text import SourceText
from warplint.static.analyze import Analysis, Analyzer
from warplint.static.facts import Facts
from warplint.static.finding import Applicability, Confidence
from warplint.static.rules.rule import At, Metric, Related, Rule, Signature, Verdict, Wants, wants


class Probe(Rule):
    """Reports what a function makes of each site; counts how often it is asked."""

    code = "WL990"
    name = "probe"
    wants = wants(calls=["torch.zeros", "torch.ones"])
    proof = Signature(At.LINE, Metric.WAIT)
    fires = ()
    quiet = ()

    def __init__(self, wanted: Wants | None = None) -> None:
        self.asked = 0
        if wanted is not None:
            self.wants = wanted  # type: ignore[misc]

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        self.asked += 1
        return Verdict(node, self.describe(node, facts), Confidence.CERTAIN, Applicability.SAFE)

    def describe(self, node: ast.expr, facts: Facts) -> str:
        return f"{facts.value(node).place.value}, {facts.hotness(node).value}"


class DeviceProbe(Probe):
    """Says where the first argument of a call is."""

    wants = wants(calls=["torch.ones"])

    def describe(self, node: ast.expr, facts: Facts) -> str:
        assert isinstance(node, ast.Call)
        return facts.value(node.args[0]).place.value


class RelatedProbe(Probe):
    """Points at where the first argument of a call comes from."""

    wants = wants(calls=["torch.ones"])

    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        assert isinstance(node, ast.Call)
        origin = facts.value(node.args[0]).origin
        assert origin is not None
        self.asked += 1
        return Verdict(
            node, "seen", Confidence.CERTAIN, related=(Related(facts.span(origin), "comes from here"),)
        )


def analyze(text: str, *rules: Rule, previous: Analysis | None = None) -> Analysis:
    return Analyzer(rules).analyze(SourceText(text, Path("program.py")), previous)


def reported(analysis: Analysis) -> list[tuple[str, str]]:
    """Each finding's text and message."""
    text = analysis.source.text
    return [(text[f.span.start : f.span.end], f.message) for f in analysis.findings]
