"""docs/show-json.schema.json describes what is printed."""

from __future__ import annotations

import copy
import importlib.util
import json
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import fastjsonschema
import pytest

from warplint.profile.join import join
from warplint.report.costs_json import render

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "docs" / "show-json.schema.json"


@pytest.fixture(scope="module")
def make_schema() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_schema", ROOT / "docs" / "make_schema.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_schema_is_as_it_would_be_written(make_schema: ModuleType) -> None:
    assert SCHEMA.read_text(encoding="utf-8") == make_schema.text(), "run python docs/make_schema.py"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    unpacked = tmp_path_factory.mktemp("h200")
    with tarfile.open(ROOT / "tests" / "profile" / "data" / "h200-unet3d.tar.xz") as archive:
        archive.extractall(unpacked, filter="data")
    profile = join(unpacked / "h200-unet3d")
    document: dict[str, Any] = json.loads(render(profile, profile.lines))
    assert document["lines"] and document["kernel_groups"]
    return document


@pytest.fixture(scope="module")
def validate() -> Any:
    return fastjsonschema.compile(json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_what_is_printed_keeps_to_it(printed: dict[str, Any], validate: Any) -> None:
    validate(printed)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["totals", "kernels"], "3190"),
        (["totals", "device"], None),
        (["lines", 0, "idle_us"], {"boredom": 1.0}),
        (["lines", 0, "kernels"], [{"name": "k", "us": 1.0}]),
        (["kernel_groups", 0, "jitter"], "much"),
        (["windows", 0, "step_after_ms"], "soon"),
    ],
)
def test_what_is_wrong_does_not(
    printed: dict[str, Any], validate: Any, path: list[Any], value: object
) -> None:
    document: Any = copy.deepcopy(printed)
    place = document
    for key in path[:-1]:
        place = place[key]
    assert path[-1] in place
    place[path[-1]] = value
    with pytest.raises(fastjsonschema.JsonSchemaException):
        validate(document)
