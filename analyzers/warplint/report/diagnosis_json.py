"""A diagnosis as one JSON object: the interface documented in docs/diagnosis.md."""

from __future__ import annotations

import json

from warplint.advice.diagnosis.verdict import Diagnosis, Verdict


def render(diagnosis: Diagnosis) -> str:
    """The run's verdict at the top, those of the phases in a list. Figures have three digits."""
    document = _verdict(diagnosis.run)
    document["phases"] = [{"phase": phase.value, **_verdict(verdict)} for phase, verdict in diagnosis.phases]
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _verdict(verdict: Verdict) -> dict[str, object]:
    return {
        "class": verdict.bottleneck.value,
        "cause": verdict.cause,
        "sentence": verdict.sentence,
        "share": round(verdict.share, 4),
        "file": verdict.file,
        "line": verdict.line,
        "evidence": [
            {
                "name": each.name,
                "value": round(each.value, 3) if isinstance(each.value, float) else each.value,
            }
            for each in verdict.evidence
        ],
    }
