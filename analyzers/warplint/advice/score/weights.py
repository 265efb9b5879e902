"""Every number that a score is made of. docs/score.md explains them to users."""

from __future__ import annotations

import enum
from fractions import Fraction

from warplint.static.finding import Confidence
from warplint.static.rules.rule import Risk


class Band(str, enum.Enum):
    """What the number says at a glance, from worst to best."""

    RED = "red"
    YELLOW = "yellow"
    GREEN = "green"


FLOORS = {Band.RED: 0, Band.YELLOW: 31, Band.GREEN: 71}
"""The lowest value of each band."""

HIGHEST = 100

START = 75
"""Where a file starts: a little inside green, so that silence is good news and good practice is better."""

PRACTICE_LIMIT = HIGHEST - START
"""What good practice can add: with all of it, and nothing found, a file reaches the top."""

COSTS = {
    (Risk.HIGH, Confidence.CERTAIN): 30,
    (Risk.HIGH, Confidence.LIKELY): 20,
    (Risk.HIGH, Confidence.POSSIBLE): 6,
    (Risk.MEDIUM, Confidence.CERTAIN): 15,
    (Risk.MEDIUM, Confidence.LIKELY): 10,
    (Risk.MEDIUM, Confidence.POSSIBLE): 3,
    (Risk.LOW, Confidence.CERTAIN): 5,
    (Risk.LOW, Confidence.LIKELY): 3,
    (Risk.LOW, Confidence.POSSIBLE): 1,
}
"""What a rule's first finding costs."""

REPEATED = Fraction(1, 2)
"""What each further finding of the same rule costs beside the one before it: what two places have in common
is mended once learned, and a file is not worse for being long."""

PERCENT_LOST = 2
"""What each percent of a step costs that a finding was measured to lose. Three tenths of a step lost take a
file from where it starts into red, and three hundredths into yellow."""

HOLDS = {
    (Risk.HIGH, Confidence.CERTAIN): FLOORS[Band.YELLOW] - 1,
    (Risk.MEDIUM, Confidence.CERTAIN): FLOORS[Band.GREEN] - 1,
    (Risk.HIGH, Confidence.LIKELY): FLOORS[Band.GREEN] - 1,
}
"""The highest value of a file with such a finding. A high risk that is only likely holds yellow, not red:
red says that the program is known to wait."""

CHANGES_BAND = frozenset({Confidence.CERTAIN, Confidence.LIKELY})
"""Findings of any other confidence cost points, but never a colour by themselves."""
