"""The rules there are, and the words that configuration, command line and comments may use for them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from warplint.project.builtin import BUILT_IN, BuiltIn
from warplint.project.config import TABLE, Config, ConfigError
from warplint.project.root import PYPROJECT
from warplint.project.selection import EVERY_RULE, did_you_mean, unknown_selectors
from warplint.source.records import dataclass, replace
from warplint.static.finding import Severity
from warplint.static.rules.registry import RuleError, find_rules
from warplint.static.rules.rule import Rule
from warplint.static.rules.rule_index import AnyRule, imported


@dataclass(frozen=True)
class Catalogue:
    """Rules, sorted by code, and the engine's own codes."""

    declared: tuple[AnyRule, ...]
    """The rules as far as they are known without importing them."""

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules themselves, which takes importing them all."""
        return tuple(map(imported, self.declared))

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
        for entry in (*BUILT_IN, *self.declared):
            words[entry.code] = words[entry.name] = entry.code
        return words

    @cached_property
    def previews(self) -> frozenset[str]:
        return frozenset(rule.code for rule in self.declared if rule.preview)

    @cached_property
    def severities(self) -> Mapping[str, Severity]:
        return {entry.code: entry.severity for entry in (*BUILT_IN, *self.declared)}

    def codes_of(self, words: Iterable[str]) -> tuple[str, ...]:
        """Codes and prefixes in the place of names. Raises ValueError for a word that no rule has."""
        selectors = tuple(self.words.get(word, word) for word in words)
        for unknown in unknown_selectors(selectors, self.codes):
            hint = did_you_mean(unknown, self.words) or "; `warplint rule` lists them"
            raise ValueError(f"there is no rule {unknown!r}{hint}")
        return selectors

    def understood(self, config: Config, strict: bool = True) -> Config:
        """The configuration with codes in the place of names.

        Raises ConfigError for unknown rules; unless ``strict`` they are passed over, as those of a pack that
        is not loaded. ``WL`` selects every rule, those of packs too.
        """
        if not strict:
            config = self._without_unknown(config)
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
        if EVERY_RULE in lists["select"]:
            families = {code.rstrip("0123456789") for code in self.codes}
            lists["select"] = (*lists["select"], *sorted(families - {EVERY_RULE}))
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

    def _without_unknown(self, config: Config) -> Config:
        def known(words: Iterable[str]) -> tuple[str, ...]:
            words = tuple(words)
            unknown = unknown_selectors([self.words.get(word, word) for word in words], self.codes)
            return tuple(word for word in words if self.words.get(word, word) not in unknown)

        return replace(
            config,
            select=known(config.select),
            extend_select=known(config.extend_select),
            ignore=known(config.ignore),
            extend_ignore=known(config.extend_ignore),
            severity=tuple(pair for pair in config.severity if known([pair[0]])),
            per_file_ignores=tuple((glob, known(words)) for glob, words in config.per_file_ignores),
        )

    def _understood(self, config: Config, key: str, words: Iterable[str]) -> tuple[str, ...]:
        try:
            return self.codes_of(words)
        except ValueError as error:
            origin = f"{config.file}: [{TABLE}]" if config.file else "--config:"
            raise ConfigError(f"{origin} {key}: {error}") from None


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Warplint's own rules."""
    return Catalogue(find_rules())


def catalogue_of(config: Config) -> Catalogue:
    """Warplint's own rules and those of the configuration's packs, which are imported.

    Raises ConfigError for a pack that cannot be imported or holds what is no rule.
    """
    return _with_packs(config.packs, config.root) if config.packs else catalogue()


@lru_cache(maxsize=64)
def _with_packs(packs: tuple[str, ...], root: Path) -> Catalogue:
    places = [root, root / "src"]
    # Last, so that a file beside the configuration cannot stand in for an installed module.
    sys.path.extend(place for place in map(str, places) if place not in sys.path)
    try:
        found = Catalogue(find_rules(packs))
    except RuleError as error:
        raise ConfigError(f"{root / PYPROJECT}: [{TABLE}] packs: {error}") from None
    for pack in packs:
        own = {str(place / pack) for place in places if (place / pack).is_dir()}
        if own and own.isdisjoint(sys.modules[pack].__path__):
            raise ConfigError(f"{root / PYPROJECT}: [{TABLE}] packs: another package is called {pack}")
    _loaded.append(found)
    return found


_loaded: list[Catalogue] = []


def entry_of(code: str) -> BuiltIn | Rule:
    """The rule of a code, of any catalogue that was loaded."""
    return next(entry for known in (catalogue(), *_loaded) for entry in known.entries if entry.code == code)
