"""docs/diagnosis.schema.json describes what ``warplint diagnose --format json`` prints."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from warplint.advice.diagnosis.diagnose import diagnose
from warplint.advice.diagnosis.verdict import Bottleneck, Phase
from warplint.profile.imported.costs import by_rank, import_traces
from warplint.report.diagnosis_json import render

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests" / "data" / "traces"
SCHEMA: dict[str, Any] = json.loads((ROOT / "docs" / "diagnosis.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def validate() -> Any:
    return fastjsonschema.compile(SCHEMA)


def printed(name: str, root: Path) -> Any:
    return json.loads(render(diagnose(import_traces(by_rank([TRACES / name]), root))))


@pytest.mark.parametrize("name", sorted(str(path.relative_to(TRACES)) for path in TRACES.rglob("*.json.gz")))
def test_what_is_printed_keeps_to_it(name: str, validate: Any, tmp_path: Path) -> None:
    validate(printed(name, tmp_path))


def test_classes_and_phases_are_those_there_are() -> None:
    classes = SCHEMA["definitions"]["verdict"]["properties"]["class"]["enum"]
    assert classes == [each.value for each in Bottleneck]
    phase = SCHEMA["properties"]["phases"]["items"]["allOf"][1]["properties"]["phase"]["enum"]
    assert phase == [each.value for each in Phase]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["class"], "gpu utilization"),
        (["share"], 41.0),
        (["line"], "42"),
        (["sentence"], ""),
        (["evidence", 0, "value"], None),
        (["phases", 0, "phase"], "warm-up"),
        (["phases", 0, "class"], "slow"),
    ],
)
def test_what_is_wrong_does_not(path: list[Any], value: object, validate: Any, tmp_path: Path) -> None:
    document = copy.deepcopy(printed("kineto/resnet50_no_workers.json.gz", tmp_path))
    place = document
    for key in path[:-1]:
        place = place[key]
    assert path[-1] in place
    place[path[-1]] = value
    with pytest.raises(fastjsonschema.JsonSchemaException):
        validate(document)
