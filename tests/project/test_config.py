"""``[tool.warplint]``: what is read, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.project.config import (
    DEFAULT_EXCLUDE,
    Config,
    ConfigError,
    config_of,
    load_config,
    read_settings,
)
from warplint.project.root import find_root
from warplint.static.finding import Severity


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_key_is_read(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        """
        [tool.warplint]
        select = ["WL1", "WL201"]
        ignore = ["WL102"]
        preview = true
        extend-select = ["WL301"]
        extend-ignore = ["WL2"]
        severity = { WL1 = "error", "host-read-in-hot-loop" = "hint" }
        exclude = ["old"]
        respect-gitignore = false
        extend-exclude = ["third_party/apex"]
        per-file-ignores = { "tests/*" = ["WL2"] }
        packs = ["team_rules"]
        """,
    )
    assert load_config(tmp_path / "pkg") == Config(
        root=tmp_path,
        file=file,
        select=("WL1", "WL201"),
        ignore=("WL102",),
        preview=True,
        extend_select=("WL301",),
        extend_ignore=("WL2",),
        severity=(("WL1", Severity.ERROR), ("host-read-in-hot-loop", Severity.HINT)),
        exclude=("old",),
        respect_gitignore=False,
        extend_exclude=("third_party/apex",),
        per_file_ignores=(("tests/*", ("WL2",)),),
        packs=("team_rules",),
    )


def test_without_a_table_there_are_defaults(tmp_path: Path) -> None:
    write(tmp_path, "[tool.other]\nwarplint = 1\n")
    config = load_config(tmp_path)
    assert (config.file, config.exclude) == (None, DEFAULT_EXCLUDE)
    assert config.enabled("WL101") and not config.enabled("WL101", preview=True)


def test_a_file_without_the_table_is_passed_over(tmp_path: Path) -> None:
    outer = write(tmp_path, "[tool.warplint]\nselect = ['WL2']\n")
    write(tmp_path / "inner", "[project]\nname = 'inner'\n")
    config = load_config(tmp_path / "inner" / "train.py")
    assert (config.file, config.root) == (outer, tmp_path)


def test_the_nearest_table_alone_decides(tmp_path: Path) -> None:
    write(tmp_path, "[tool.warplint]\nignore = ['WL1']\n")
    write(tmp_path / "inner", "[tool.warplint]\nselect = ['WL1']\n")
    config = load_config(tmp_path / "inner")
    assert (config.select, config.ignore) == (("WL1",), ())


def test_somebody_elses_broken_file_is_not_our_business(tmp_path: Path) -> None:
    write(tmp_path, "[tool.{{ cookiecutter.name }}\n")
    assert load_config(tmp_path).file is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.warplint]\nselct = []\n", "[tool.warplint] has no key 'selct'; did you mean 'select'?"),
        (
            "[tool.warplint]\nfoo = []\n",
            "accepted: select, extend-select, ignore, extend-ignore, preview, ",
        ),
        (
            "[tool.warplint]\nselect = 'WL1'\n",
            'select must be a list of rule codes, prefixes or names, such as ["WL2"',
        ),
        ("[tool.warplint]\nselect = 'WL1'\n", "not a string"),
        ("[tool.warplint]\nignore = [1]\n", "not a list with an integer in it"),
        ("[tool.warplint]\npreview = 'yes'\n", "preview must be true or false, not a string"),
        ("[tool.warplint]\nexclude = true\n", "exclude must be a list of file patterns"),
        ("[tool.warplint]\nexclude = ['']\n", "not a list with an empty string in it"),
        (
            "[tool.warplint]\nper-file-ignores = ['a']\n",
            "per-file-ignores must be a table from file patterns",
        ),
        (
            "[tool.warplint.per-file-ignores]\n'a' = 'WL1'\n",
            "per-file-ignores must be a table from file patt",
        ),
        ("[tool.warplint.severity]\nWL1 = 'fatal'\n", "severity must be a table from rule codes to"),
        ("[tool.warplint.severity]\nWL1 = 'fatal'\n", "not a table with 'fatal' in it"),
        ("[tool.warplint.severity]\nWL1 = 3\n", "not a table with an integer in it"),
        ("[tool.warplint]\npreview = 1979-05-27\n", "not a date or time"),
        ("[tool]\nwarplint = 3\n", "tool.warplint must be a table, not an integer"),
        ("tool = 3  # for warplint\n", "tool must be a table, not an integer"),
        ("[tool.warplint]\nselect = [\n", "is not valid TOML"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)


def test_bytes_that_are_no_toml_are_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.warplint]\n# \xff\n")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        load_config(tmp_path)


def test_per_file_ignores_add_to_ignore(tmp_path: Path) -> None:
    config = Config(
        tmp_path, ignore=("WL3",), per_file_ignores=(("tests", ("WL2",)), ("*_test.py", ("WL1",)))
    )
    assert config.selection_for(tmp_path / "a.py").ignore == ("WL3",)
    assert config.selection_for(tmp_path / "tests" / "b" / "a.py").ignore == ("WL3", "WL2")
    assert config.selection_for(tmp_path / "tests" / "a_test.py").ignore == ("WL3", "WL2", "WL1")


def test_a_root_is_the_nearest_project_or_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert find_root(tmp_path / "a" / "b" / "train.py") == tmp_path
    write(tmp_path / "a", "")
    assert find_root(tmp_path / "a" / "b") == tmp_path / "a"
    assert find_root(tmp_path / "a" / ".." / "a" / "b") == tmp_path / "a"


def test_a_worktrees_git_file_marks_a_root_too(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    (tmp_path / "a").mkdir()
    assert find_root(tmp_path / "a") == tmp_path


def test_the_longest_code_decides_on_a_severity(tmp_path: Path) -> None:
    config = Config(tmp_path, severity=(("WL1", Severity.ERROR), ("WL101", Severity.HINT)))
    levels = [config.severity_of(code, Severity.WARNING) for code in ("WL101", "WL102", "WL201")]
    assert levels == [Severity.HINT, Severity.ERROR, Severity.WARNING]


def test_a_named_file_may_hold_the_keys_alone(tmp_path: Path) -> None:
    file = tmp_path / "strict.toml"
    file.write_text("ignore = ['WL1']\n", encoding="utf-8")
    assert config_of(file, tmp_path / "pkg") == Config(tmp_path / "pkg", file, ignore=("WL1",))
    file.write_text("[tool.warplint]\nignore = ['WL2']\n", encoding="utf-8")
    assert config_of(file, tmp_path).ignore == ("WL2",)
    with pytest.raises(ConfigError, match=r"has no table \[tool.warplint\]"):
        config_of(write(tmp_path, "[project]\n"), tmp_path)
    with pytest.raises(ConfigError, match=r"strict.toml has no key 'selct'; did you mean 'select'"):
        file.write_text("selct = []\n", encoding="utf-8")
        config_of(file, tmp_path)


def test_settings_are_toml_and_the_last_of_a_key_decides() -> None:
    settings = ["preview=true", "ignore=['WL1']", "ignore=['WL2']", "severity.WL1='hint'"]
    fields = {"preview": True, "ignore": ("WL2",), "severity": (("WL1", Severity.HINT),)}
    assert read_settings(settings) == fields
    with pytest.raises(ConfigError, match="--config select=WL1 is not valid TOML"):
        read_settings(["select=WL1"])
    with pytest.raises(ConfigError, match="--config has no key 'nope'"):
        read_settings(["nope=1"])
