"""Which code counts as the user's."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest

from warplint.capture.lines.user_code import UserCode


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("file", "user"),
    [
        ("train.py", True),
        ("src/package/model.py", True),
        ("./src/../train.py", True),
        (".venv/lib/python3.12/site-packages/torch/nn.py", False),
        ("dist-packages/x.py", False),
        ("../elsewhere/x.py", False),
        ("../project-2/x.py", False),
        ("<string>", False),
        ("<frozen importlib._bootstrap>", False),
    ],
)
def test_code_under_the_root_is_the_users_unless_installed(root: Path, file: str, user: bool) -> None:
    assert UserCode([root], [], root).holds_file(file) is user
    if not file.startswith("<"):
        assert UserCode([root], [], Path("/")).holds_file(str(root / file)) is user


def test_the_standard_library_and_warplint_are_never_the_users() -> None:
    everything = UserCode([Path("/")], [], Path("/"))
    assert not everything.holds_file(json.__file__)
    assert not everything.holds_file(sysconfig.get_paths()["purelib"] + "/module.py")
    import warplint.capture.layout

    assert not everything.holds_file(warplint.capture.layout.__file__)


def test_the_scripts_folder_counts_beside_the_root(root: Path) -> None:
    scripts = root.parent / "scripts"
    assert UserCode([root, scripts], [], root).holds_file(str(scripts / "train.py"))


def test_a_linked_folder_is_the_one_it_leads_to(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    assert UserCode([root], [], root).holds_file(str(root.parent / "link" / "train.py"))
    assert UserCode([root.parent / "link"], [], root).holds_file(str(root / "train.py"))


def test_included_packages_and_modules_are_the_users(root: Path) -> None:
    code = UserCode([root], ["json", "this_is_not_installed"], root)
    assert code.holds_file(json.__file__)
    assert not code.holds_file(sysconfig.__file__)
    assert code.missing == ["this_is_not_installed"]
