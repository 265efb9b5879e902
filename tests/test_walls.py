"""The walls between the parts, read off the import statements of every source file.

An import inside a function counts as one at the top: it is a way through the wall all the same.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "warplint": ROOT / "analyzers" / "warplint",
    "warplint_rules": ROOT / "rules" / "warplint_rules",
    "warplint_server": ROOT / "server" / "warplint_server",
}

# Each part, and the parts of Warplint it may import besides itself. `warplint` stands for the package's own
# __init__, which imports nothing.
MAY_IMPORT = {
    "warplint": set(),
    "warplint.source": {"warplint"},
    "warplint.capture": {"warplint", "warplint.source"},
    "warplint.static": {"warplint", "warplint.source"},
    "warplint.profile": {"warplint", "warplint.source", "warplint.capture.layout"},
    "warplint.project": {
        "warplint",
        "warplint.source",
        "warplint.static",
        "warplint.profile",
        "warplint.capture.layout",
    },
    "warplint.advice": {
        "warplint",
        "warplint.source",
        "warplint.static",
        "warplint.profile",
        "warplint.project",
        "warplint.report.figures",
    },
    "warplint.report": {
        "warplint",
        "warplint.source",
        "warplint.static",
        "warplint.profile",
        "warplint.project",
        "warplint.advice.diagnosis.verdict",
        "warplint.advice.score.file_score",
        "warplint.advice.score.workspace_score",
        "warplint.capture.layout",
    },
    "warplint.commands": {
        "warplint",
        "warplint.source",
        "warplint.static",
        "warplint.profile",
        "warplint.project",
        "warplint.report",
        "warplint.advice",
        "warplint.capture",
        "warplint_server",
    },
    "warplint.__main__": {"warplint", "warplint.commands", "warplint.project"},
    "warplint_rules": {"warplint.static", "warplint.source"},
    "warplint_server": {
        "warplint",
        "warplint.source",
        "warplint.project",
        "warplint.advice",
        "warplint.profile.model",
        "warplint.profile.follow",
        "warplint.static.finding",
        "warplint.static.rules.rule",
        "warplint.capture.layout",
        "warplint.report",
    },
}

# Third-party modules that a part must not import, whatever the way.
MUST_NOT_IMPORT = {
    "warplint.source": {"torch", "numpy", "libcst", "pygls", "rich"},
    "warplint.static": {"torch", "numpy", "pygls", "rich"},
    "warplint.profile": {"torch", "libcst", "pygls", "rich"},
    "warplint.project": {"torch", "numpy", "libcst", "pygls", "rich"},
    "warplint.advice": {"torch", "numpy", "libcst", "pygls", "rich"},
    "warplint.capture": {"numpy", "libcst", "pygls", "rich", "watchdog"},
    "warplint_rules": {"torch", "numpy", "pygls", "rich"},
    "warplint_server": {"torch", "numpy", "libcst"},
}

# The folders and modules inside a part, each after all that it may import.
ORDER = {
    "warplint.static": (
        *("files", "finding", "role", "torch_version", "values"),
        *("fixing", "tables", "parsing", "domain", "annotations"),
        *("structure", "inference", "facts", "rules", "analyze"),
    ),
    "warplint.capture": (
        *("allowance", "background", "collector", "command", "forked_child", "interruptions"),
        *("late_imports", "layout", "patches", "price", "probe", "settings", "shared_memory"),
        *("terminal", "tested"),
        *("folder", "group_signals", "launch", "progress", "recorder", "starting", "summary"),
        *("gpu", "lines", "compiled", "process", "steps", "workers", "layers", "window", "graphs"),
        *("session", "entry", "bootstrap"),
    ),
    "warplint.profile": (
        *("changes", "root_relative", "second_process", "raw", "kineto", "timeline"),
        *("sections", "steps", "model"),
        *("attribution", "names", "totals", "notes", "join", "imported"),
        *("schema", "database", "store", "follow"),
    ),
    "warplint.advice": ("products", "measured", "score", "diagnosis"),
}


def parts() -> Iterator[tuple[str, str, Path]]:
    """Every source file as (part, module, path); a part is a package below the top, or a top-level module."""
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            names = [package, *path.relative_to(folder).with_suffix("").parts]
            module = ".".join(names[:-1] if names[-1] == "__init__" else names)
            known = [part for part in MAY_IMPORT if module == part or module.startswith(f"{part}.")]
            yield max(known, key=len), module, path


@cache
def imports(path: Path, *, run: bool = False) -> set[str]:
    """The modules a file imports, anywhere in it; ``from a import b`` is a.b where that is a module.

    ``run``: without what stands under ``if TYPE_CHECKING``, which is not imported when the program runs.
    """
    tree = ast.parse(path.read_bytes())
    for_types = {
        id(node)
        for test in ast.walk(tree)
        if run and isinstance(test, ast.If) and ast.unparse(test.test) == "TYPE_CHECKING"
        for statement in test.body
        for node in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{path} imports relatively"
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if is_module(name) else node.module for name in submodules)
    return found


def is_module(name: str) -> bool:
    package, _, rest = name.partition(".")
    path = PACKAGES[package] / rest.replace(".", "/") if package in PACKAGES else None
    return path is not None and (path.with_suffix(".py").exists() or path.is_dir())


def within(name: str, part: str) -> bool:
    """Whether a module is a part or in it. The bare package is its __init__ alone."""
    return name == part or (part != "warplint" and name.startswith(f"{part}."))


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_a_part_imports_only_what_is_below_it(part: str) -> None:
    breaches = [
        f"{module} imports {name}"
        for owner, module, path in parts()
        if owner == part
        for name in imports(path)
        if name.partition(".")[0] in PACKAGES
        if not any(within(name, allowed) for allowed in {part, *MAY_IMPORT[part]})
    ]
    assert breaches == []


@pytest.mark.parametrize("part", MUST_NOT_IMPORT)
def test_a_part_keeps_heavy_packages_out(part: str) -> None:
    breaches = [
        f"{module} imports {name}"
        for owner, module, path in parts()
        if owner == part
        for name in imports(path)
        if name.partition(".")[0] in MUST_NOT_IMPORT[part]
    ]
    assert breaches == []


def inside(part: str, module: str) -> str:
    """The folder or module right below a part that a module is or is in; empty for the part itself."""
    return module.removeprefix(part).removeprefix(".").partition(".")[0]


@pytest.mark.parametrize("part", ORDER)
def test_imports_inside_a_part_point_one_way(part: str) -> None:
    place = {name: number for number, name in enumerate(ORDER[part])}
    breaches = [
        f"{module} imports {name}"
        for owner, module, path in parts()
        if owner == part and module != part
        for name in imports(path, run=True)
        if name.startswith(f"{part}.")
        if place[inside(part, name)] > place[inside(part, module)]
    ]
    assert breaches == []


@pytest.mark.parametrize("part", ORDER)
def test_all_that_is_inside_a_part_has_its_place(part: str) -> None:
    found = {inside(part, module) for _, module, _ in parts() if within(module, part)} - {""}
    assert sorted(ORDER[part]) == sorted(found)


def test_the_layout_of_captures_is_a_leaf() -> None:
    names = imports(PACKAGES["warplint"] / "capture" / "layout.py")
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import warplint; print(sorted(set(sys.modules) - before))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "['warplint']"


def test_every_source_file_belongs_to_a_part() -> None:
    assert {part for part, _, _ in parts()} == set(MAY_IMPORT)
