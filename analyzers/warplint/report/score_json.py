"""Scores as one JSON object: the interface documented in docs/score.md."""

from __future__ import annotations

import json
from collections.abc import Sequence

from warplint.advice.score.workspace_score import WorkspaceScore
from warplint.report.score_text import Scored


def render(files: Sequence[Scored], together: WorkspaceScore | None) -> str:
    document = {
        "files": [_file(each) for each in files],
        "workspace": None if together is None else _workspace(together),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _file(scored: Scored) -> dict[str, object]:
    score = scored.score
    return {
        "path": scored.result.shown_path,
        "value": score.value,
        "band": score.band.value,
        "summary": score.summary,
        "parts": [{"label": it.label, "points": it.points, "line": it.line} for it in score.parts],
    }


def _workspace(together: WorkspaceScore) -> dict[str, object]:
    return {
        "value": together.value,
        "band": together.band.value,
        "parts": [
            {"label": it.label, "points": it.points, "path": it.file, "line": it.line}
            for it in together.parts
        ],
    }
