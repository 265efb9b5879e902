"""Which rules are on: codes and prefixes of codes, selected and ignored."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from warplint.source.pattern import Pattern
from warplint.source.records import dataclass

EVERY_RULE = "WL"
SELECTOR = Pattern(r"[A-Z]{2,}[0-9]*")


@dataclass(frozen=True, slots=True)
class Selection:
    """``select`` and ``ignore`` hold codes (``WL101``) or prefixes (``WL1``).

    The longest one that fits a code decides; between two of the same length, ``ignore`` does.
    """

    select: tuple[str, ...] = (EVERY_RULE,)
    ignore: tuple[str, ...] = ()
    preview: bool = False

    def enabled(self, code: str, preview: bool = False) -> bool:
        """Whether findings of ``code`` are reported.

        A rule in preview also needs ``preview`` to be on, or its full code to be selected.
        """
        selected = longest_match(code, self.select)
        if selected is None or len(selected) <= len(longest_match(code, self.ignore) or ""):
            return False
        return not preview or self.preview or selected == code

    def ignores(self, code: str) -> bool:
        """Whether ``code`` is ignored: how what always applies (an unparsable file) is turned off."""
        return longest_match(code, self.ignore) is not None


def longest_match(code: str, selectors: Iterable[str]) -> str | None:
    return max((selector for selector in selectors if code.startswith(selector)), key=len, default=None)


def unknown_selectors(selectors: Iterable[str], codes: Collection[str]) -> list[str]:
    """The selectors that fit no code, in the order given."""
    return [
        selector
        for selector in selectors
        if not SELECTOR.fullmatch(selector) or not any(code.startswith(selector) for code in codes)
    ]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'select'?`` when one of ``known`` is close to ``word``, else nothing."""
    import difflib  # It costs start-up, and only mistakes need it.

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
