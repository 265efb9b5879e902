"""A code that no rule file stands behind."""

from __future__ import annotations

from warplint.source.records import dataclass
from warplint.static.finding import Severity


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A code of the engine's own, explained as a rule's docstring explains a rule."""

    code: str
    name: str
    explanation: str
    severity: Severity = Severity.ERROR
