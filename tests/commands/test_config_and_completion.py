"""What Warplint says about itself: statistics, the configuration's schema, and completion."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from samples import CLEAN, SAFE, UNSAFE

from warplint.project.config import KEYS, ConfigError, read_settings

# Statistics


def test_statistics_count_findings_and_time(warplint: CommandLine) -> None:
    warplint.write("a.py", SAFE)
    warplint.write("b.py", UNSAFE)
    warplint.write("c.py", CLEAN)
    warplint.write("d.py", "print 'a'\n")
    done = warplint("check", "--statistics")
    assert done.returncode == 1
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head == ["findings", "fixable", "unsafe", "time", "(ms)", "rule"]
    assert (rows[0][:3], rows[0][4:]) == (["2", "1", "1"], ["WL101", "host-tensor-in-hot-code"])
    assert (rows[1][:3], rows[1][4:]) == (["1", "0", "0"], ["WL001", "unparsable-source"])
    counts = json.loads(warplint("check", "--statistics", "--format", "json").stdout)
    found = next(count for count in counts if count["code"] == "WL101")
    assert (found["findings"], found["fixable"], found["unsafe"]) == (2, 1, 1)
    assert 0 < found["seconds"] < 10


def test_statistics_do_not_time_what_is_off(warplint: CommandLine) -> None:
    # Rules that are off run where a comment might silence them.
    warplint.write("a.py", SAFE + "\n\nlimit = 3  # warplint: ignore[WL201]\n")
    counts = json.loads(
        warplint("check", "--statistics", "--format", "json", "--select", "WL101", "--isolated").stdout
    )
    assert [count["code"] for count in counts] == ["WL101"]


def test_statistics_measure_on_every_core_and_never_from_the_cache(warplint: CommandLine) -> None:
    warplint.write("pyproject.toml", "")
    for number in range(40):
        warplint.write(f"n{number}.py", SAFE)
    warplint("check")
    for _ in range(2):
        counts = json.loads(warplint("check", "--statistics", "--format", "json", "--jobs", "2").stdout)
        assert counts[0]["findings"] == 40 and counts[0]["seconds"] > 0


@pytest.mark.parametrize("more", [["--fix"], ["--baseline", "x.json"], ["--format", "sarif"]])
def test_statistics_stand_alone(warplint: CommandLine, more: list[str]) -> None:
    assert "--statistics counts what is found" in warplint("check", "--statistics", *more).stderr


# The schema


def accepts(schema: dict[str, Any], value: object) -> bool:
    """Whether a value is as a schema has it, for the words that ours uses."""
    assert schema.keys() <= {
        "$schema", "title", "description", "type", "properties", "additionalProperties", "items",
        "minLength", "enum", "pattern",
    }  # fmt: skip
    types = {"object": dict, "array": list, "string": str, "boolean": bool}
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not isinstance(value, types[schema["type"]]):
        return False
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return False
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        return False
    if isinstance(value, list):
        return all(accepts(schema.get("items", {}), item) for item in value)
    if isinstance(value, dict):
        others = schema.get("additionalProperties", {})
        known = schema.get("properties", {})
        return all(
            accepts(known[name], held) if name in known else others is not False and accepts(others, held)
            for name, held in value.items()
        )
    return True


VALUES = (
    *("true", "1", "1.5", "''", "'2.4'", "'2.4.1'", "'2'", "'v2.4'", "'WL1'"),
    *("[]", "['WL1']", "['']", "[1]", "['a', 2]", "[['WL1']]", "{}", "{WL1 = 'hint'}", "{WL1 = 'fatal'}"),
    *("{WL1 = 1}", "{'a/*' = ['WL1']}", "{'a/*' = 'WL1'}", "{'a/*' = []}", "{'a/*' = [1]}", "{'a/*' = {}}"),
)


@pytest.mark.parametrize("key", [*KEYS, "no-such-key"])
def test_the_schema_accepts_what_the_loader_reads(warplint: CommandLine, key: str) -> None:
    import tomllib

    schema = json.loads(warplint("config", "--schema").stdout)
    verdicts = set()
    for value in VALUES:
        setting = f"{key} = {value}"
        try:
            read_settings([setting])
            read = True
        except ConfigError:
            read = False
        assert accepts(schema, tomllib.loads(setting)) is read, setting
        verdicts.add(read)
    assert verdicts == ({True, False} if key in KEYS else {False})


def test_keys_are_listed_and_explained(warplint: CommandLine) -> None:
    listed = warplint("config").stdout.splitlines()
    assert [line.partition(":")[0] for line in listed] == list(KEYS)
    assert "true or false" in warplint("config", "preview").stdout
    done = warplint("config", "prevew")
    assert done.returncode == 2 and "did you mean 'preview'?" in done.stderr


# Completion


def completed(warplint: CommandLine, line: str) -> list[str]:
    """What bash offers at the end of a line."""
    script = warplint("completion", "bash").stdout
    words = line.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    ask = (
        f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _warplint; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"], cwd=warplint.folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(warplint: CommandLine) -> None:
    warplint.write("net.py", SAFE)
    assert completed(warplint, "warplint che") == ["check"]
    assert "server" in completed(warplint, "warplint ")
    assert completed(warplint, "warplint check --stat") == ["--statistics"]
    assert "sarif" in completed(warplint, "warplint check --format ")
    assert completed(warplint, "warplint check --select WL101") == ["WL101"]
    assert completed(warplint, "warplint check n") == ["net.py"]
    assert completed(warplint, "warplint completion ") == ["bash", "fish", "zsh"]
    assert "WL101" in completed(warplint, "warplint rule WL")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_hear_of_every_option(warplint: CommandLine, shell: str) -> None:
    script = warplint("completion", shell).stdout
    help_text = warplint("check", "--help").stdout
    options = {word.strip(",[]:") for word in help_text.split() if word.startswith(("--", "[--"))}
    assert len(options) > 20
    for option in options:
        assert (f"*{option}[" if shell == "zsh" else f"-l {option.removeprefix('--')} ") in script, option


def test_an_unknown_shell_is_refused(warplint: CommandLine) -> None:
    assert warplint("completion", "tcsh").returncode == 2


def test_the_folder_is_as_before(warplint: CommandLine) -> None:
    warplint("completion", "bash")
    warplint("config", "--schema")
    assert list(Path(warplint.folder).iterdir()) == []
