"""A rule explained from its own file: docstring and examples, as Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

from warplint.project.builtin import BuiltIn
from warplint.static.rules.rule import Example, Rule
from warplint.static.torch_version import NEWEST

OPEN, CLOSE = "«", "»"


def rule_page(rule: Rule | BuiltIn) -> str:
    """Everything a user may want to know about a rule."""
    title = f"# {rule.code} {rule.name}\n\n"
    if isinstance(rule, BuiltIn):
        return title + rule.explanation
    preview = "On trial: reported with `--preview`, or when its code is selected.\n\n" if rule.preview else ""
    examples = [_example("Reported", example) for example in rule.fires]
    examples += [_example("Not reported", example) for example in rule.quiet]
    risk = f"Risk: {rule.risk.value}.\n\n"
    return (
        title
        + risk
        + preview
        + _releases(rule)
        + explanation(rule)
        + "\n\n## Examples\n\n"
        + "\n".join(examples)
    )


def _releases(rule: Rule) -> str:
    bounds = [
        f"{word} {version}" for word, version in (("since", rule.since), ("before", rule.until)) if version
    ]
    return f"For torch {' and '.join(bounds)}.\n\n" if bounds else ""


def list_rules(rules: Iterable[Rule | BuiltIn]) -> Iterator[str]:
    """One line a rule, with its end: code, name, first sentence."""
    for rule in sorted(rules, key=lambda rule: rule.code):
        first_line = explanation(rule).partition("\n")[0]
        trial = " (preview)" if isinstance(rule, Rule) and rule.preview else ""
        yield f"{rule.code}  {rule.name}{trial}: {first_line}\n"


def explanation(rule: Rule | BuiltIn) -> str:
    """The rule's docstring without its indentation."""
    return rule.explanation if isinstance(rule, BuiltIn) else inspect.cleandoc(type(rule).__doc__ or "")


def _example(verdict: str, example: Example) -> str:
    release = "" if example.torch == NEWEST else f" (torch {example.torch})"
    text = f"{verdict}{release}: {example.why}\n\n{_code(example.source)}"
    return text + (f"\nFixed:\n\n{_code(example.fixed)}" if example.fixed is not None else "")


def _code(source: str) -> str:
    """Source as an indented block; lines with a reported place are pointed out."""
    lines = inspect.cleandoc(source).split("\n")
    width = max(len(line.replace(OPEN, "").replace(CLOSE, "")) for line in lines)
    return "".join(f"    {_pointed(line, width)}".rstrip() + "\n" for line in lines)


def _pointed(line: str, width: int) -> str:
    plain = line.replace(OPEN, "").replace(CLOSE, "")
    return f"{plain:<{width}}  # <-- reported" if OPEN in line else plain
