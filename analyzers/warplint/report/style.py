"""How output may look, from where it goes."""

from __future__ import annotations

import os
from typing import TextIO

from warplint.source.records import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """Whether escape codes are written. Each method marks a text up, or returns it as it is."""

    color: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """Colour on a terminal that knows it; FORCE_COLOR wants it anywhere, NO_COLOR nowhere.

        Both as https://force-color.org and https://no-color.org have them; where both are set, NO_COLOR wins.
        """
        if os.environ.get("NO_COLOR"):
            return cls(color=False)
        if os.environ.get("FORCE_COLOR"):
            return cls(color=True)
        return cls(color=stream.isatty() and os.environ.get("TERM") != "dumb")

    def code(self, text: str) -> str:
        return self._marked(text, "1;31")

    def frame(self, text: str) -> str:
        return self._marked(text, "1;34")

    def caret(self, text: str) -> str:
        return self._marked(text, "1;31")

    def fixable(self, text: str) -> str:
        return self._marked(text, "36")

    def strong(self, text: str) -> str:
        return self._marked(text, "1")

    def _marked(self, text: str, parameters: str) -> str:
        return f"\033[{parameters}m{text}\033[0m" if self.color and text else text
