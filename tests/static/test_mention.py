"""A pattern is found in a text where Python's own search finds it."""

from __future__ import annotations

import re

import pytest

from warplint.static.parsing.mention import Searched

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
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_pattern_is_found_where_a_search_finds_it(pattern: str, text: str) -> None:
    assert Searched(text).mentions(pattern) == (re.search(pattern, text) is not None)
