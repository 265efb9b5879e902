"""What becomes of a value."""

from __future__ import annotations

import ast
import enum

from warplint.source.records import dataclass
from warplint.static.values import Value


class UseKind(enum.Enum):
    """What happens to a value at one place it reaches."""

    MOVED = "moved"
    """``.to(device)``, ``.cuda()``, ``.type_as(x)``."""
    COMBINED = "combined"
    """An operand beside another tensor: arithmetic, a torch call, a module call."""
    INDEX = "index"
    """Inside the brackets of a subscript of a tensor."""
    HOST = "host"
    """Read by Python: ``.tolist()``, ``int()``, iteration, a condition, printing."""
    STORED = "stored"
    """Put into ``self``, a buffer, a container."""
    RETURNED = "returned"
    PASSED = "passed"
    """An argument of a call the engine does not know."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Use:
    """One place a value reaches. ``node`` is the expression that uses it; ``other`` the value it meets."""

    kind: UseKind
    node: ast.AST
    other: Value | None = None
