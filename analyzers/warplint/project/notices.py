"""What is said about a file without being a finding."""

from __future__ import annotations

from warplint.source.records import dataclass
from warplint.source.span import Span


@dataclass(frozen=True, slots=True)
class Notice:
    """Something about a place in a file that must be said, such as a comment that is not understood."""

    span: Span
    message: str
