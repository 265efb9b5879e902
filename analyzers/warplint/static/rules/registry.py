"""Rules are found by place: every module of a rule pack holds exactly one, and adding a file adds the rule.

A module whose name starts with an underscore holds what several rules of a family share, and no rule.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from warplint.source.pattern import Pattern
from warplint.static.rules.rule import Example, Risk, Rule, Signature, TorchVersion, Wants
from warplint.static.rules.rule_index import AnyRule, RuleIndex

CODE = Pattern(r"[A-Z]{2,}\d{3}")
NAME = Pattern(r"[a-z0-9]+(-[a-z0-9]+)+")
OPEN, CLOSE = "«", "»"

HEADINGS = ("## Why is this slow?", "## When it stays silent", "## Fix safety", "## Sources")
DECLARED: dict[str, type] = {
    "code": str,
    "name": str,
    "wants": Wants,
    "proof": Signature,
    "risk": Risk,
    "fires": tuple,
    "quiet": tuple,
}


class RuleError(Exception):
    """A rule file that breaks the contract of ``static/rules/rule.py``; the message names file and fault."""


OWN_PACK = "warplint_rules"


def find_rules(packs: Sequence[str] = ()) -> tuple[AnyRule, ...]:
    """Every rule of Warplint and of packs, sorted by code; without packs, imported when one is asked for.

    Raises RuleError as ``load_rules`` does.
    """
    if packs:
        return load_rules((OWN_PACK, *packs))
    index = RuleIndex(_import(OWN_PACK).__path__)
    known = index.read()
    if known is not None:
        return known
    rules = load_rules()
    index.write(rules)
    return rules


def load_rules(packs: Sequence[str] = (OWN_PACK,)) -> tuple[Rule, ...]:
    """Import every rule of the packs and return one instance of each, sorted by code.

    Raises RuleError for a pack that cannot be imported or a rule file that breaks the contract.
    """
    rules: list[Rule] = []
    for pack in packs:
        for module in _modules(pack):
            rule = _rule_of(module)
            for other in rules:
                if rule.code == other.code or rule.name == other.name:
                    raise RuleError(
                        f"{module.__file__}: {rule.code} {rule.name} is already taken by {_file(other)}"
                    )
            rules.append(rule)
    return tuple(sorted(rules, key=lambda rule: rule.code))


def _modules(pack: str) -> Iterator[ModuleType]:
    package = _import(pack)
    if not hasattr(package, "__path__"):
        raise RuleError(f"{pack} is a module; a rule pack is a package with one module a rule")
    for folder in package.__path__:
        for entry in sorted(Path(folder).iterdir()):
            if (entry / "__init__.py").is_file():
                yield from _modules(f"{pack}.{entry.name}")
            elif entry.suffix == ".py" and not entry.name.startswith("_"):
                yield _import(f"{pack}.{entry.stem}")


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise RuleError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _rule_of(module: ModuleType) -> Rule:
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Rule)
        and value.__module__ == module.__name__
        and not value.__abstractmethods__
    ]
    if len(classes) != 1:
        raise RuleError(f"{module.__file__}: holds {len(classes)} rules; a rule file holds exactly one")
    problem = next(_problems(classes[0]), None)
    if problem is not None:
        raise RuleError(f"{module.__file__}: {classes[0].__name__} {problem}")
    rule: Rule = classes[0]()
    return rule


def _problems(rule: type[Rule]) -> Iterator[str]:
    """What breaks the contract, worst first."""
    for attribute, expected in DECLARED.items():
        if not isinstance(getattr(rule, attribute, None), expected):
            yield f"declares no {attribute} of type {expected.__name__}"
            return
    if not CODE.fullmatch(rule.code):
        yield f"has the code {rule.code!r}; a code is capital letters and three digits, such as WL101"
    if not NAME.fullmatch(rule.name):
        yield f"has the name {rule.name!r}; a name is lower-case words joined by hyphens"
    if not all(isinstance(bound, TorchVersion | None) for bound in (rule.since, rule.until)):
        yield "has a since or until that is no TorchVersion"
    elif rule.since is not None and rule.until is not None and rule.since >= rule.until:
        yield f"is right since torch {rule.since} until {rule.until}: for no release"
    yield from _docstring_problems(rule.__doc__ or "")
    if not rule.fires or not rule.quiet:
        yield "needs at least one example that fires and one that stays quiet"
    for example in rule.fires:
        yield from _example_problems(example, marked=True)
    for example in rule.quiet:
        yield from _example_problems(example, marked=False)


def _docstring_problems(text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.splitlines()]
    if not lines or lines[0].startswith("#"):
        yield "has no docstring that starts with what it detects"
        return
    places = [lines.index(heading) if heading in lines else -1 for heading in HEADINGS]
    for heading, place in zip(HEADINGS, places, strict=True):
        if place < 0:
            yield f"has no {heading!r} in its docstring"
    if places != sorted(places):
        yield f"has the headings of its docstring out of order; they are {', '.join(HEADINGS)}"
    for heading, place in zip(HEADINGS, places, strict=True):
        following = next((line for line in lines[place + 1 :] if line.strip()), "#")
        if place >= 0 and following.startswith("#"):
            yield f"has nothing under {heading!r}"


def _example_problems(example: Example, *, marked: bool) -> Iterator[str]:
    marks = [character for character in example.source if character in OPEN + CLOSE]
    if marks != [OPEN, CLOSE] * (len(marks) // 2):
        yield f"has an example with unbalanced marks: {example.why}"
    if marked != bool(marks):
        fault = "a firing example without" if marked else "a quiet example with"
        yield f"has {fault} {OPEN}{CLOSE}: {example.why}"
    if example.fixed is not None and not marked:
        yield f"has a fix for a quiet example: {example.why}"


def _file(rule: Rule) -> str:
    return str(sys.modules[type(rule).__module__].__file__)
