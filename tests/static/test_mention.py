"""A pattern is found in a text where Python's own search finds it."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from warplint.static.parsing.mention import Searched

ROOT = Path(__file__).parent.parent.parent

PATTERNS = (
    "",
    "a",
    r"(?i)autocast|tf32",
    r"\bhalf\b|mixed_?precision",
    r"\.double\(|[(|]",
    r"(?i)torch_?dtype|\bvit",
    r"ab{0,2}c|x[yz|]|(?i:no|yes)",
    r"__name__\s*==\s*[\"']__main__",
    r"(?<!b)float16",
    r"[a-z]_?dtype\s*=\s*(?!torch\.)",
    "a{2}",
    r"\x41bc",
    "(?i)sin",
    r"(?m)^import half|^\s*x = (?:y|z)$",
    r"(?ms)^half.def|^half.*z$",
    "(?x) a a | h a l f",
    "b|xb{,3}z",
    r"(?P<letter>[a-z])(?P=letter)|vit",
    r"(.)?x(?(1)z|y)|vit",
    "x(?#no | yes)z|vit",
)
TEXTS = (
    "",
    "a",
    "AutoCast",
    "halfway half",
    "halfway",
    "mixedprecision",
    "mixed_precision",
    "x.double(",
    "|",
    "torchdtype",
    "TORCH_DTYPE",
    "invite vit",
    "ac",
    "abbbc",
    "xz",
    "NO",
    'if __name__  ==\n"__main__":',
    "bfloat16",
    "float16",
    "my_dtype = torch.half",
    "my_dtype = half",
    "aa",
    "Abc",
    "\u017fin",
    "import torch\n    x = y\n",
    "from half\nimport half\nhalf\ndef x\nz",
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_pattern_is_found_where_a_search_finds_it(pattern: str, text: str) -> None:
    assert Searched(text).mentions(pattern) == (re.search(pattern, text) is not None)


def patterns_of_rules() -> Iterator[str]:
    """What the rules ask ``facts.mentions`` for: each is a constant of the module that asks."""
    for path in sorted((ROOT / "rules" / "warplint_rules").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "rules").with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "mentions"
            ):
                yield getattr(importlib.import_module(module), ast.unparse(node.args[0]))


def real_texts() -> list[str]:
    """Programs and tests of this repository, each whole and in pieces."""
    folders = ("examples", "bench", "rules", "tests/static", "tests/rules", "tests/capture")
    texts = [path.read_text() for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [*texts, *(piece for text in texts for piece in text.split("\n\n\n"))]


def test_the_rules_patterns_are_found_where_a_search_finds_them() -> None:
    patterns = sorted(set(patterns_of_rules()))
    texts = real_texts()
    assert any(pattern.startswith("(?m)") for pattern in patterns)
    for pattern in patterns:
        found = [re.search(pattern, text) is not None for text in texts]
        assert any(found) and not all(found), pattern
        assert [Searched(text).mentions(pattern) for text in texts] == found, pattern
