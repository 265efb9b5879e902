"""Which torch a project asks for, read from the files that say what it needs.

They are searched and not parsed: importing a TOML parser takes longer than checking a small file, and what
looks like a requirement of torch is one wherever it stands. Half-typed files are read as far as they go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from warplint.project.root import PYPROJECT
from warplint.static.torch_version import TorchVersion

FILES = (PYPROJECT, "setup.cfg", "setup.py", "requirements*.txt", "environment.yml", "environment.yaml")
LAST_OF_MAJOR = {1: 13}
"""The last minor release of each major one that is complete."""

# Compiled when a file speaks of torch, and of lower case: that is most of what these cost.
REQUIREMENT = r"(?:[\w.-]+::)?(?:torch|pytorch)(?:\s*\[[^\]]*\])?\s*(?P<rest>[(<>=!~@^].*)"
"""The package as it is called on PyPI and on conda's channels, perhaps with the channel or with extras."""
CLAUSE = r"(?P<operator>===|==|~=|>=|<=|!=|>|<|\^|~|=)\s*(?P<version>\d[\w.*+!-]*)"
IN_WHEEL = r"\btorch-(?P<version>\d[\w.]*)"
PATCH = r"\d+\.\d+\.0*[1-9]"
LOWER = frozenset({"==", "===", "=", "~=", "~", "^", ">=", ">"})

COMMENT = r"(?m)^\s*#.*$"
QUOTED = r"""(["'])(?P<text>(?:py)?torch[^"'\n]*(?:(?!\1)["'][^"'\n]*)*)\1"""
NAMED = r"(?m)^[ \t]*[\"']?(?:py)?torch[\"']?[ \t]*=[ \t]*(?P<value>\[[^\]]*\]|[^\n]*)"
"""``torch = "^2.1"`` and ``torch = {version = "^2.1"}``, as Poetry and pixi have them, also in lists."""
VERSION = r"""(?:\A|\bversion[ \t]*=)[ \t]*["'](?P<version>[^"']*)["']"""


def bound_in(folder: Path) -> tuple[TorchVersion, str] | None:
    """The oldest torch that the files of a project's folder allow, and the name of the file that says so.

    Where only an upper bound stands, it is the newest that this allows. The first file with either decides.
    """
    for path, requirements in _files(folder):
        if (text := _text(path)) is not None and (bound := lowest(requirements(text))) is not None:
            return bound, path.name
    return None


def lowest(requirements: Iterable[str]) -> TorchVersion | None:
    """The oldest torch that requirements allow, or the newest where none of them has a lower bound."""
    bounds = [_bounds(text) for text in requirements]
    lower = [version for version, _ in bounds if version is not None]
    upper = [version for _, version in bounds if version is not None]
    return min(lower or upper, default=None)


def _bounds(requirement: str) -> tuple[TorchVersion | None, TorchVersion | None]:
    """The oldest and the newest torch that one requirement allows; None for what it leaves open."""
    match = re.fullmatch(REQUIREMENT, requirement.strip(), re.DOTALL)
    if match is None:
        return None, None
    if match["rest"].startswith("@"):
        wheel = re.search(IN_WHEEL, match["rest"])
        return (None if wheel is None else TorchVersion.parse(wheel["version"])), None
    lower: list[TorchVersion] = []
    upper: list[TorchVersion] = []
    # What follows a semicolon says when it is needed, not what.
    for clause in re.finditer(CLAUSE, re.split("[;#]", match["rest"])[0]):
        version = TorchVersion.parse(clause["version"])
        if version is None:
            continue
        if clause["operator"] in LOWER:
            lower.append(version)
        elif clause["operator"] == "<=":
            upper.append(version)
        elif clause["operator"] == "<" and (before := _before(clause["version"], version)) is not None:
            upper.append(before)
    # Poetry's alternatives allow what any of them does.
    oldest = min if "||" in match["rest"] else max
    return oldest(lower, default=None), min(upper, default=None)


def _before(text: str, version: TorchVersion) -> TorchVersion | None:
    """The newest release below a version; None where that is not settled yet."""
    if re.match(PATCH, text):
        return version
    if version.minor:
        return TorchVersion(version.major, version.minor - 1)
    last = LAST_OF_MAJOR.get(version.major - 1)
    return None if last is None else TorchVersion(version.major - 1, last)


def may_bound(name: str) -> bool:
    """Whether a file of this name may say which torch a project asks for."""
    return any(fnmatchcase(name, pattern) for pattern in FILES)


Reader = Callable[[str], Iterator[str]]


def _files(folder: Path) -> Iterator[tuple[Path, Reader]]:
    """What may say so, the most binding first, and how each is read."""
    yield folder / PYPROJECT, _of_toml
    yield folder / "setup.cfg", _lines
    yield folder / "setup.py", _quoted
    listed = sorted(folder.glob("requirements*.txt"), key=lambda path: (len(path.name), path.name))
    yield from ((path, _lines) for path in listed)
    yield folder / "environment.yml", _items
    yield folder / "environment.yaml", _items


def _text(path: Path) -> str | None:
    """The text of a file in lower case and without its comments, if it speaks of torch."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return re.sub(COMMENT, "", data.decode("utf-8", "replace").lower()) if b"torch" in data.lower() else None


def _of_toml(text: str) -> Iterator[str]:
    yield from _quoted(text)
    for named in re.finditer(NAMED, text):
        for version in re.finditer(VERSION, named["value"]):
            yield f"torch {_compared(version['version'])}"


def _quoted(text: str) -> Iterator[str]:
    return (match["text"] for match in re.finditer(QUOTED, text))


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield line.partition(" --")[0].removeprefix("install_requires").strip(" \t=,\\")


def _items(text: str) -> Iterator[str]:
    """The items of all lists in a YAML text: conda's, and pip's inside them."""
    for line in text.splitlines():
        item = line.strip().removeprefix("-").strip(" \t\"'")
        name, _, version = item.partition(" ")
        yield f"{name} {_compared(version)}"


def _compared(version: str) -> str:
    """A version by itself means that one."""
    return f"=={version.strip()}" if version.strip()[:1].isdigit() else version
