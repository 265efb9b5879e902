"""How long each rule takes."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplint.static.rules.rule import Rule


class TimedRule:
    """Stands in for a rule and adds up the seconds that its decisions take, by code."""

    def __init__(self, rule: Rule, seconds: defaultdict[str, float]) -> None:
        self._rule = rule
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rule, name)

    def check(self, *arguments: Any) -> Any:
        begin = time.perf_counter()
        try:
            return self._rule.check(*arguments)
        finally:
            self._seconds[self._rule.code] += time.perf_counter() - begin
