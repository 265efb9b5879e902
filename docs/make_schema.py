"""Writes docs/show-json.schema.json, the JSON Schema of ``warplint show --format json``.

Keys and types are those of the result types, descriptions those of the tables in docs/show-json.md.
``python docs/make_schema.py`` writes it; with ``--check`` it says when it is not as it would be written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import types
import typing
from dataclasses import fields
from pathlib import Path
from typing import Any

from warplint.profile.model import IdleCause, KernelCost, LineCost, Totals
from warplint.profile.sections.table import SECTIONS

DOCUMENT = Path(__file__).parent / "show-json.md"
SCHEMA = Path(__file__).parent / "show-json.schema.json"
DRAFT = "http://json-schema.org/draft-07/schema#"

PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    tuple[str, ...]: {"type": "array", "items": {"type": "string"}},
}
_ROW = re.compile(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", re.MULTILINE)


def schema() -> dict[str, Any]:
    """The schema. Further keys are allowed: releases may add some."""
    listed = {"lines": LineCost, **SECTIONS}
    return {
        "$schema": DRAFT,
        "title": "warplint show --format json",
        "type": "object",
        "properties": {
            "totals": _object(Totals, "totals"),
            **{name: {"type": "array", "items": _object(kind, name)} for name, kind in listed.items()},
        },
        "required": ["totals", *listed],
    }


def _object(kind: type[Any], heading: str) -> dict[str, Any]:
    told, hints = _descriptions(heading), typing.get_type_hints(kind)
    properties = {
        each.name: {**_type(hints[each.name]), "description": told[each.name]} for each in fields(kind)
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _type(hint: Any) -> dict[str, Any]:
    if hint in PLAIN:
        return dict(PLAIN[hint])
    if hint == dict[IdleCause, float]:
        causes = [cause.value for cause in IdleCause]
        return {
            "type": "object",
            "propertyNames": {"enum": causes},
            "additionalProperties": {"type": "number"},
        }
    if hint == list[KernelCost]:
        kernel = {name: _type(kind) for name, kind in typing.get_type_hints(KernelCost).items()}
        return {
            "type": "array",
            "items": {"type": "object", "properties": kernel, "required": list(kernel)},
        }
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return {"type": [_type(part)["type"] for part in typing.get_args(hint)]}
    raise TypeError(f"no JSON type is known for {hint}")


def _descriptions(heading: str) -> dict[str, str]:
    """What the document's tables say of each key under a heading."""
    text = DOCUMENT.read_text(encoding="utf-8").split(f"\n## `{heading}`\n")[1].split("\n## ")[0]
    return {key: meaning.replace("`", "") for key, meaning in _ROW.findall(text)}


def text() -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 when it would change"
    )
    if parser.parse_args().check:
        if SCHEMA.read_text(encoding="utf-8") == text():
            return 0
        print(f"{SCHEMA} is not as it would be written: run python docs/make_schema.py", file=sys.stderr)
        return 1
    SCHEMA.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
