"""What is ignored, held against what git itself says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from warplint.project.gitignore import Gitignores

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "XDG_CONFIG_HOME": "/nonexistent",
}
LISTS = ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME", "HOME")
FILES = (
    "a.py",
    "b.txt",
    "build/x.py",
    "src/a.py",
    "src/build/y.py",
    "src/build.py",
    "src/deep/er/a.py",
    "src/deep/er/keep.py",
    "docs/build/z.py",
    "foo/bar/baz.py",
    "foo/x/bar/baz.py",
    "we ird/na me.py",
    "[a].py",
    "!x.py",
    "#x.py",
    "trail .py",
    "star*.py",
    "é.py",
    "x]y.py",
    "a-b.py",
    "Upper.py",
)


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests has no list of their own."""
    for name in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, ENVIRONMENT[name])


def git(folder: Path, *arguments: str, stdin: str | None = None) -> str:
    users_own = {name: os.environ[name] for name in LISTS if name in os.environ}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**{name: value for name, value in ENVIRONMENT.items() if name not in LISTS}, **users_own},
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    git(tmp_path, "init", "--quiet")
    return tmp_path


def kept_by_git(tree: Path) -> set[str]:
    listed = git(tree, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return {name for name in listed if name and not name.endswith(".gitignore")}


def kept(folder: Path, root: Path | None = None) -> set[str]:
    """What is found going down as a run does: an ignored folder is not entered."""
    root = root or folder
    found: set[str] = set()
    ignored = Gitignores().of(folder)
    for entry in folder.iterdir():
        if entry.name in {".git", ".gitignore"} or ignored.ignores(entry, entry.is_dir()):
            continue
        found |= kept(entry, root) if entry.is_dir() else {entry.relative_to(root).as_posix()}
    return found


@pytest.mark.parametrize(
    "lines",
    [
        "*.py",
        "build",
        "build/",
        "/build/",
        "/build",
        "src/build",
        "/src/build/",
        "**/build",
        "build/**",
        "src/**",
        "src/**/a.py",
        "**/er/*.py",
        "foo/**/bar",
        "foo/*/bar",
        "foo/bar/",
        "*\n!*.txt",
        "*.py\n!a.py",
        "*.py\n!/a.py",
        "src/*\n!src/deep",
        "src/*\n!src/deep/\nsrc/deep/er/*\n!keep.py",
        "src/\n!src/deep/er/keep.py",
        "# a.py\n\\#x.py",
        "\\!x.py",
        "!x.py",
        "a.py   ",
        "trail\\ .py",
        "na me.py",
        "we ird/",
        "we*/*",
        "[a].py",
        "\\[a\\].py",
        "[ab].py",
        "[!b].py",
        "[^b].py",
        "[a-z].py",
        "x[]]y.py",
        "[]-]*",
        "a[+--]b.py",
        "[z-a].py",
        "star\\*.py",
        "star?.py",
        "?.py",
        "é.py",
        "[é].py",
        "upper.py",
        "a.py\r\nbuild/\r",
        "/",
        "",
        "**",
        "**/",
        "/**",
        "***",
        "a**.py",
        "foo//bar",
        "*/build",
        "*/*/a.py",
        "src/deep/er/",
        "deep/er",
        "[[:alpha:]].py",
        "[[:digit:][:upper:]a]*.py",
        "[\\]x]*.py",
        "x[!a-]y.py",
        "[",
        "a[",
        "\\",
    ],
)
def test_what_is_kept_is_what_git_keeps(tree: Path, lines: str) -> None:
    (tree / ".gitignore").write_bytes(lines.encode())
    assert kept(tree) == kept_by_git(tree)


def test_a_deeper_file_has_the_last_word(tree: Path) -> None:
    (tree / ".gitignore").write_text("*.py\nbuild\n", encoding="utf-8")
    (tree / "src" / ".gitignore").write_text("!a.py\n!build\n/deep/er/keep.py\n", encoding="utf-8")
    assert kept(tree) == kept_by_git(tree)
    assert "src/a.py" in kept(tree)


def test_the_repositorys_own_list_counts_and_is_weaker(tree: Path) -> None:
    (tree / ".git" / "info" / "exclude").write_text("*.py\n", encoding="utf-8")
    (tree / ".gitignore").write_text("!a.py\n", encoding="utf-8")
    assert kept(tree) == kept_by_git(tree)
    assert {"a.py", "src/a.py", "src/deep/er/a.py", "b.txt"} == kept(tree)


@pytest.mark.parametrize("place", ["default", "home", "xdg", "named", "repository"])
def test_the_users_own_list_counts_and_is_the_weakest(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    (home / "xdg" / "git").mkdir(parents=True)
    if place == "named":
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "named"))
    listed = home / "xdg" / "git" / "ignore" if place == "default" else home / "my list"
    listed.write_text("*.txt\nbuild/\n*.py\n", encoding="utf-8")
    configuration = {
        "home": home / ".gitconfig",
        "xdg": home / "xdg" / "git" / "config",
        "named": home / "named",
        "repository": tree / ".git" / "config",
    }
    if place in configuration:
        before = configuration[place].read_text() if configuration[place].exists() else ""
        text = f'{before}[user]\n\texcludesFile = x\n[Core]\n\tExcludesfile = "~/my list"\n'
        configuration[place].write_text(text, encoding="utf-8")
    (tree / ".git" / "info" / "exclude").write_text("!a.py\n", encoding="utf-8")
    (tree / ".gitignore").write_text("!b.txt\n", encoding="utf-8")
    assert kept(tree) == kept_by_git(tree) == {"a.py", "src/a.py", "src/deep/er/a.py", "b.txt"}


def test_a_linked_work_tree_has_the_lists_of_the_main_one(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    git(tree, *identity, "commit", "--quiet", "--allow-empty", "--message", "x")
    (tree / ".git" / "info" / "exclude").write_text("build\n", encoding="utf-8")
    linked = tmp_path_factory.mktemp("linked") / "tree"
    git(tree, "worktree", "add", "--quiet", str(linked))
    for name in ("a.py", "build/x.py"):
        (linked / name).parent.mkdir(exist_ok=True)
        (linked / name).touch()
    assert kept(linked) == kept_by_git(linked) == {"a.py"}


def test_a_repository_inside_another_starts_anew(tree: Path) -> None:
    (tree / ".gitignore").write_text("*.py\n", encoding="utf-8")
    git(tree / "src", "init", "--quiet")
    assert "src/a.py" in kept(tree)
    assert kept(tree / "src") == kept_by_git(tree / "src")


def test_outside_a_work_tree_nothing_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.py\n", encoding="utf-8")
    (tmp_path / "a.py").touch()
    assert kept(tmp_path) == {"a.py"}


def test_what_is_below_an_ignored_folder_is_left_out(tree: Path) -> None:
    (tree / ".gitignore").write_text("src\n!src/a.py\n", encoding="utf-8")
    ignored = Gitignores()
    assert ignored.leaves_out(tree / "src" / "deep" / "er" / "a.py", False)
    assert ignored.leaves_out(tree / "src", True)
    assert not ignored.leaves_out(tree / "a.py", False)
