"""What a rule is: a class in a file of its own, declaring what it looks at, deciding on facts, and fixing.

The engine nominates the sites a rule wants, from ``ast`` and name tables alone; the rule decides with the
engine's facts; libcst is imported only when a fix is asked for, and sees one statement, never the file.
"""

from __future__ import annotations

import ast
import enum
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

from warplint.source.records import dataclass, field
from warplint.static.finding import Applicability, Confidence, Finding, Related, Severity
from warplint.static.rules.signature import At, Metric, Signature
from warplint.static.torch_version import NEWEST, TorchVersion

if TYPE_CHECKING:
    import libcst as cst

    from warplint.static.facts import Facts


@dataclass(frozen=True, slots=True)
class Wants:
    """The sites a rule asks to see, as data.

    ``calls`` are qualified names (``torch.arange``), ``methods`` are attribute names called on anything
    (``item``), ``builtins`` are calls of built-in names (``float``), ``conditions`` asks for the tests of
    if, while, assert, conditional expressions, comprehension filters and the operands of and/or/not,
    ``formats`` for the values that f-strings put into text, ``subscripts`` for ``x[i]``, read or written,
    where the index may be a tensor or a list, ``added`` for ``v`` in ``x += v`` and ``x = x + v``.
    ``settings`` are qualified names that something is assigned to (``torch.backends.cudnn.enabled``, an item
    of ``os.environ`` as ``os.environ.NAME``): the site is the target of the assignment.
    """

    calls: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    builtins: frozenset[str] = frozenset()
    conditions: bool = False
    formats: bool = False
    subscripts: bool = False
    added: bool = False
    settings: frozenset[str] = frozenset()


def wants(
    *,
    calls: Collection[str] = (),
    methods: Collection[str] = (),
    builtins: Collection[str] = (),
    conditions: bool = False,
    formats: bool = False,
    subscripts: bool = False,
    added: bool = False,
    settings: Collection[str] = (),
) -> Wants:
    names = (frozenset(calls), frozenset(methods), frozenset(builtins))
    return Wants(
        *names,
        conditions=conditions,
        formats=formats,
        subscripts=subscripts,
        added=added,
        settings=frozenset(settings),
    )


class Risk(str, enum.Enum):
    """How much of a program's GPU time is lost, at worst, where a rule's finding is true."""

    HIGH = "high"
    """It can become most of a step, or the program fails on a GPU."""
    MEDIUM = "medium"
    """It costs each step, mostly some percent of it; how much depends on what else the GPU waits for."""
    LOW = "low"
    """It is seldom measurable by itself."""


@dataclass(frozen=True, slots=True)
class Example:
    """A source that must, or must not, be reported: it is a test and the documentation at once.

    In a ``fires`` example each reported place is enclosed in ``«»``; the marks are taken out before checking.
    ``fixed`` is the text after all fixes, unsafe ones included, where the rule has one. ``why`` says what the
    example shows, and ``torch`` which release it is for.
    """

    why: str
    source: str
    fixed: str | None = None
    torch: TorchVersion = NEWEST


@dataclass(frozen=True, slots=True)
class Verdict:
    """What ``Rule.check`` found. ``node`` is the expression to underline and, by default, to fix.

    ``through`` is the last expression to underline, where the fault reaches from one place to another.
    """

    node: ast.expr
    message: str
    confidence: Confidence
    fix: Applicability = Applicability.NONE
    fix_title: str = ""
    related: tuple[Related, ...] = ()
    through: ast.expr | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A fix: what takes the node's place, and the ``import a.b`` statements the file then needs."""

    node: cst.BaseExpression
    imports: tuple[str, ...] = field(default=())


def is_right_for(torch: TorchVersion, since: TorchVersion | None, until: TorchVersion | None) -> bool:
    """Whether advice with these bounds is right for a program that runs with this torch."""
    return (since is None or since <= torch) and (until is None or torch < until)


class Rule(ABC):
    """One kind of finding. Subclasses live in ``warplint_rules``, one file each, and are found by place.

    The class docstring is Markdown under fixed headings: a first line that says what is seen, then
    ``## Why is this slow?``, ``## When it stays silent``, ``## Fix safety`` and ``## Sources``.
    ``warplint rule CODE`` prints it.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    wants: ClassVar[Wants]
    proof: ClassVar[Signature]
    risk: ClassVar[Risk]
    preview: ClassVar[bool] = False
    since: ClassVar[TorchVersion | None] = None
    """The first torch for which the advice is right."""
    until: ClassVar[TorchVersion | None] = None
    """The first torch for which it is right no more."""
    severity: ClassVar[Severity] = Severity.WARNING
    fires: ClassVar[tuple[Example, ...]]
    quiet: ClassVar[tuple[Example, ...]]

    @abstractmethod
    def check(self, node: ast.expr, facts: Facts) -> Verdict | None:
        """Decide whether a nominated site is a finding; None is silence."""

    @classmethod
    def holds_for(cls, torch: TorchVersion) -> bool:
        """Whether the advice is right for a program that runs with this torch."""
        return is_right_for(torch, cls.since, cls.until)

    def fix(self, node: cst.BaseExpression, site: ast.expr, facts: Facts) -> Rewrite | None:
        """Rewrite the libcst twin of the verdict's node; None when no fix is right after all."""
        return None


__all__ = [
    "Applicability",
    "At",
    "Confidence",
    "Example",
    "Finding",
    "Metric",
    "Related",
    "Rewrite",
    "Risk",
    "Rule",
    "Severity",
    "Signature",
    "TorchVersion",
    "Verdict",
    "Wants",
    "wants",
]
