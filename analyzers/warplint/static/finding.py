"""What the static side reports."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable

from warplint.source.records import dataclass, field
from warplint.source.span import Span


class Confidence(str, enum.Enum):
    """How sure the engine is that the finding is true."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Hotness(str, enum.Enum):
    """How often a place runs while the program works."""

    STEP = "step"
    """Once a step, a batch, a token, or more often: in a hot loop, or in code that is called from one."""
    EPOCH = "epoch"
    """Once an epoch, a rollout, an evaluation, or behind an every-N guard."""
    ONCE = "once"
    """Set-up, construction, loading, saving, module level outside loops."""
    UNKNOWN = "unknown"


class Applicability(str, enum.Enum):
    """Whether a fix exists, and whether it can change behaviour."""

    NONE = "none"
    SAFE = "safe"
    UNSAFE = "unsafe"


class Severity(str, enum.Enum):
    """How much a finding matters to its project; a run fails for errors and warnings only."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding, with what it has to do with it."""

    span: Span
    message: str


class Outcome(str, enum.Enum):
    """What a capture says of a finding."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    """The code ran in the captured steps on a GPU, and shows nothing of what the finding would cost."""
    UNJUDGED = "unjudged"
    FOUND = "found"
    """The finding itself was made by measuring: no rule reported it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Time that the GPU lost in one way on one captured line; ``share`` of a step, from 0 to 1.

    Two findings can speak of the same time: it has one place, and one ``kind``.
    """

    capture: str
    file: str
    line: int
    kind: str
    share: float

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.capture, self.file, self.line, self.kind


@dataclass(frozen=True, slots=True)
class Measured:
    """A capture's word on a finding: ``cost_us`` a step, from 0; ``share`` of the step, from 0 to 1.

    ``sentence`` says it to users: the cost and its evidence, or why there is none. ``lost`` is where the GPU
    lost time by it, no more than ``share``, and less where part of the time is work that has to be done; None
    where a capture does not tell.
    """

    outcome: Outcome
    sentence: str
    cost_us: float = 0.0
    share: float = 0.0
    lost: tuple[Lost, ...] | None = None


def lost_together(lost: Iterable[Lost]) -> dict[str, float]:
    """The share of a step that was lost, by capture; what several findings speak of counts once."""
    once = {each.key: each for each in lost}
    shares: defaultdict[str, float] = defaultdict(float)
    for each in once.values():
        shares[each.capture] += each.share
    return dict(shares)


@dataclass(frozen=True, slots=True)
class Finding:
    """One reported site. ``span`` counts in the whole file's text.

    ``severity`` is the project's choice, ``measured`` a capture's word, and neither part of what is found:
    findings are equal whatever they are.
    """

    code: str
    name: str
    message: str
    span: Span
    confidence: Confidence = Confidence.CERTAIN
    hotness: Hotness = Hotness.UNKNOWN
    fix: Applicability = Applicability.NONE
    fix_title: str = ""
    related: tuple[Related, ...] = ()
    severity: Severity = field(default=Severity.WARNING, compare=False)
    measured: Measured | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters of ``span`` by ``text``."""

    span: Span
    text: str
