"""Diagnoses of the tests, each of which is held to docs/language.md."""

from __future__ import annotations

from warplint.advice.diagnosis import diagnose as asked
from warplint.advice.diagnosis.verdict import Bottleneck, Diagnosis
from warplint.profile.model import Profile
from wording import faults, says_what_to_do

LONGEST = 420
"""Of a sentence that names a line and quotes it. Paths can be of any length: they are not counted."""


def diagnose(profile: Profile) -> Diagnosis:
    diagnosis = asked.diagnose(profile)
    for verdict in (diagnosis.run, *(verdict for _, verdict in diagnosis.phases)):
        said = verdict.sentence.replace(verdict.file, "") if verdict.file else verdict.sentence
        assert list(faults(said, LONGEST)) == [], verdict.sentence
        assert verdict.bottleneck is Bottleneck.NONE or says_what_to_do(said), verdict.sentence
    return diagnosis
