"""The configuration's JSON Schema, from the same table that reads it."""

from __future__ import annotations

from typing import Any

from warplint.project.config import KEYS, TABLE


def schema() -> dict[str, Any]:
    """What ``[tool.warplint]`` may hold, as JSON Schema, draft 7."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"Warplint: the table [{TABLE}]",
        "type": "object",
        "properties": {name: {"description": key.meaning, **key.kind.schema} for name, key in KEYS.items()},
        "additionalProperties": False,
    }
