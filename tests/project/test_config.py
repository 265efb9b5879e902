"""``[tool.warplint]``: what is read, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.project.config import DEFAULT_EXCLUDE, Config, ConfigError, load_config
from warplint.project.root import find_root


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
        exclude = ["old"]
        extend-exclude = ["third_party/apex"]
        per-file-ignores = { "tests/*" = ["WL2"] }
        """,
    )
    assert load_config(tmp_path / "pkg") == Config(
        root=tmp_path,
        file=file,
        select=("WL1", "WL201"),
        ignore=("WL102",),
        preview=True,
        exclude=("old",),
        extend_exclude=("third_party/apex",),
        per_file_ignores=(("tests/*", ("WL2",)),),
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
            "accepted: select, ignore, preview, exclude, extend-exclude, per-file",
        ),
        (
            "[tool.warplint]\nselect = 'WL1'\n",
            'select must be a list of rule codes or prefixes, such as ["WL2"',
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
        ("[tool.warplint]\npreview = 1979-05-27\n", "not a date or time"),
        ("[tool]\nwarplint = 3\n", "tool.warplint must be a table, not an integer"),
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
