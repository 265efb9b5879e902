"""Which files a run finds, on real folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from warplint.project.config import ConfigError
from warplint.project.files import Configs, Target, Unreadable, find_files
from warplint.source.records import replace


def make(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def found(root: Path, *paths: Path, force_exclude: bool = False) -> list[str]:
    items = find_files(paths or [root], Configs(), force_exclude)
    return [item.path.relative_to(root).as_posix() for item in items]


def test_python_files_by_name_depth_first(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.py", "a/b/c.pyi", "a.py", "c.pyw", "d.txt", "e.ipynb", "a/README", "py")
    assert found(tmp_path) == ["a/b/c.pyi", "a/z.py", "a.py", "b.py", "c.pyw", "e.ipynb"]


def test_default_excludes(tmp_path: Path) -> None:
    make(tmp_path, "x.py", *(f"{name}/x.py" for name in (".git", ".venv", "venv", "node_modules", "build")))
    make(tmp_path, "pkg/__pycache__/x.py", "pkg/build/x.py", ".warplint/x.py", "builder/x.py")
    assert found(tmp_path) == ["builder/x.py", "x.py"]


def test_a_virtual_environment_of_any_name(tmp_path: Path) -> None:
    make(tmp_path, "env311/pyvenv.cfg", "env311/lib/x.py", "x.py")
    assert found(tmp_path) == ["x.py"]


def test_a_named_file_is_checked_whatever_it_is(tmp_path: Path) -> None:
    make(tmp_path, "build/x.py", "script")
    assert found(tmp_path, tmp_path / "build" / "x.py", tmp_path / "script") == ["build/x.py", "script"]
    assert found(tmp_path, tmp_path / "build") == ["build/x.py"]


def test_force_exclude_holds_for_named_files(tmp_path: Path) -> None:
    make(tmp_path, "build/x.py", "script", "pkg/x.py")
    (tmp_path / "pyproject.toml").write_text("[tool.warplint]\nextend-exclude = ['pkg/x.py']\n")
    paths = [tmp_path / "build" / "x.py", tmp_path / "script", tmp_path / "pkg" / "x.py"]
    assert found(tmp_path, *paths, force_exclude=True) == ["script"]


def test_each_folder_has_its_own_settings(tmp_path: Path) -> None:
    make(tmp_path, "a/keep.py", "a/drop.py", "a/deep/drop.py", "b/drop.py", "b/build/x.py", "drop.py")
    (tmp_path / "pyproject.toml").write_text("[tool.warplint]\nextend-exclude = ['b/build']\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.warplint]\nexclude = ['drop.py']\n")
    assert found(tmp_path) == ["a/keep.py", "b/drop.py", "drop.py"]
    targets = {item.path.name: item for item in find_files([tmp_path / "a"], Configs())}
    assert targets["keep.py"].config.root == tmp_path / "a"


def test_a_broken_nested_configuration_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.warplint]\nnope = 1\n")
    with pytest.raises(ConfigError, match="nope"):
        found(tmp_path)


def test_each_file_once(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py", "y.py")
    (tmp_path / "z.py").symlink_to("y.py")
    (tmp_path / "also_a").symlink_to("a")
    paths = [tmp_path / "a", tmp_path, tmp_path / "a" / ".." / "y.py", tmp_path / "also_a"]
    assert found(tmp_path, *paths) == ["a/x.py", "y.py"]


def test_links_to_folders_are_not_followed_so_loops_end(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py")
    (tmp_path / "a" / "loop").symlink_to("..")
    (tmp_path / "a" / "self.py").symlink_to("self.py")
    (tmp_path / "a" / "folder.py").symlink_to(".")
    items = list(find_files([tmp_path], Configs()))
    assert [item.path.name for item in items] == ["self.py", "x.py"]
    assert isinstance(items[0], Unreadable)


def test_a_named_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py")
    (tmp_path / "link").symlink_to("a")
    assert found(tmp_path, tmp_path / "link") == ["link/x.py"]


def test_a_folder_named_like_a_file(tmp_path: Path) -> None:
    make(tmp_path, "x.py/y.py")
    assert found(tmp_path) == ["x.py/y.py"]


def test_a_link_to_nowhere_is_named_but_an_editors_lock_is_not(tmp_path: Path) -> None:
    (tmp_path / "gone.py").symlink_to("nowhere")
    (tmp_path / ".#x.py").symlink_to("user@host.123")
    assert [(item.path.name, getattr(item, "reason", "")) for item in find_files([tmp_path], Configs())] == [
        ("gone.py", "a symbolic link that leads nowhere")
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_what_is_no_file_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    os.mkfifo(tmp_path / "pipe")
    (item,) = find_files([tmp_path], Configs())
    assert isinstance(item, Unreadable)
    assert (item.path.name, item.reason) == ("pipe.py", "neither a file nor a folder")
    (named,) = find_files([tmp_path / "pipe"], Configs())
    assert isinstance(named, Unreadable) and named.reason == "neither a file nor a folder"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no paths of open files")
def test_an_open_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        (item,) = find_files([Path(f"/dev/fd/{reading}")], Configs())
        assert isinstance(item, Target)
    finally:
        os.close(reading)
        os.close(writing)


def test_very_deep_folders(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(300):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "x.py").touch()
    assert len(found(tmp_path)) == 1


def test_the_override_is_on_top_of_every_configuration(tmp_path: Path) -> None:
    make(tmp_path, "x.py", "a/y.py")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.warplint]\nselect = ['WL1']\n")
    configs = Configs(lambda config: replace(config, preview=True))
    targets = [item for item in find_files([tmp_path], configs) if isinstance(item, Target)]
    assert [target.config.preview for target in targets] == [True, True]
    assert [target.config.select for target in targets] == [("WL1",), ("WL",)]
