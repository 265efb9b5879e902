"""The words that a name is made of."""

from __future__ import annotations

from warplint.source.pattern import Pattern

WORD = Pattern(r"[a-z]+|[A-Z](?:[a-z]+|[A-Z]*(?![a-z]))")
STEMS = Pattern(r"(train|test|val|valid|eval|dev)(?:data)?(?:set|loader|iter|gen|dl|ds)?")
"""What is left of words written as one: ``trainloader``, ``testset``."""


def words_of(*names: str) -> set[str]:
    """The words of names in either style, in lower case: ``trainLoader`` and ``train_loader`` alike."""
    words = (word.lower() for name in names for word in WORD.findall(name))
    return {stem[1] if (stem := STEMS.fullmatch(word)) else word for word in words}
