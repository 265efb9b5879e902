"""File patterns."""

from __future__ import annotations

import pytest

from warplint.project.globs import Globs


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("build", "build", True),
        ("build", "a/build/b.py", True),
        ("build", "a/rebuild/b.py", False),
        ("build/", "a/build/b.py", True),
        ("*_pb2.py", "a/b/x_pb2.py", True),
        ("*_pb2.py", "a/b/x_pb2.pyi", False),
        ("third_party/apex", "third_party/apex/x/y.py", True),
        ("third_party/apex", "a/third_party/apex/x.py", False),
        ("./third_party/apex", "third_party/apex/x.py", True),
        ("/setup.py", "setup.py", True),
        ("/setup.py", "a/setup.py", False),
        ("a/*.py", "a/x.py", True),
        ("a/*.py", "a/b/x.py", False),
        ("a/**/x.py", "a/x.py", True),
        ("a/**/x.py", "a/b/c/x.py", True),
        ("**/x.py", "x.py", True),
        ("a/**", "a/b/c.py", True),
        ("a/?.py", "a/x.py", True),
        ("a/?.py", "a/xy.py", False),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("[!ab].py", "c.py", True),
        ("a.b", "aXb", False),
        ("a(+).py", "a(+).py", True),
        ("[", "[", True),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert Globs([pattern]).match(path) is fits


def test_no_pattern_fits_nothing() -> None:
    assert not Globs([]).match("a")


def test_an_entry_is_matched_for_itself_alone() -> None:
    globs = Globs(["build", "a/b"])
    assert globs.match_entry("x/build") and globs.match_entry("a/b")
    assert not globs.match_entry("build/x.py")
