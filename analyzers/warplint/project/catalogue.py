"""The rules there are, and the words that configuration, command line and comments may use for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from warplint.project.builtin import BUILT_IN, BuiltIn
from warplint.project.config import TABLE, Config, ConfigError
from warplint.project.selection import did_you_mean, unknown_selectors
from warplint.static.finding import Severity
from warplint.static.registry import load_rules
from warplint.static.rule import Rule


@dataclass(frozen=True)
class Catalogue:
    """Rules, sorted by code, and the engine's own codes."""

    rules: tuple[Rule, ...]

    @property
    def entries(self) -> tuple[BuiltIn | Rule, ...]:
        return (*BUILT_IN, *self.rules)

    @cached_property
    def codes(self) -> frozenset[str]:
        return frozenset(self.words.values())

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The code that each code and each name stands for."""
        words: dict[str, str] = {}
        for entry in self.entries:
            words[entry.code] = words[entry.name] = entry.code
        return words

    @cached_property
    def previews(self) -> frozenset[str]:
        return frozenset(rule.code for rule in self.rules if rule.preview)

    @cached_property
    def severities(self) -> Mapping[str, Severity]:
        return {entry.code: entry.severity for entry in self.entries}

    def codes_of(self, words: Iterable[str]) -> tuple[str, ...]:
        """Codes and prefixes in the place of names. Raises ValueError for a word that no rule has."""
        selectors = tuple(self.words.get(word, word) for word in words)
        for unknown in unknown_selectors(selectors, self.codes):
            hint = did_you_mean(unknown, self.words) or "; `warplint rule` lists them"
            raise ValueError(f"there is no rule {unknown!r}{hint}")
        return selectors

    def understood(self, config: Config) -> Config:
        """The configuration with codes in the place of names. Raises ConfigError for unknown rules."""
        lists = {
            key: self._understood(config, key, words)
            for key, words in {
                "select": config.select,
                "extend-select": config.extend_select,
                "ignore": config.ignore,
                "extend-ignore": config.extend_ignore,
                "severity": [word for word, _ in config.severity],
            }.items()
        }
        levels = (level for _, level in config.severity)
        return replace(
            config,
            select=lists["select"],
            extend_select=lists["extend-select"],
            ignore=lists["ignore"],
            extend_ignore=lists["extend-ignore"],
            severity=tuple(zip(lists["severity"], levels, strict=True)),
            per_file_ignores=tuple(
                (glob, self._understood(config, "per-file-ignores", words))
                for glob, words in config.per_file_ignores
            ),
        )

    def _understood(self, config: Config, key: str, words: Iterable[str]) -> tuple[str, ...]:
        try:
            return self.codes_of(words)
        except ValueError as error:
            origin = f"{config.file}: [{TABLE}]" if config.file else "--config:"
            raise ConfigError(f"{origin} {key}: {error}") from None


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    return Catalogue(load_rules())
