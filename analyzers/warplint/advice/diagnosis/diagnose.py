"""Weighs what the causes claim, and says the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, all_causes, dearest
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Diagnosis, Figure, Phase, Verdict
from warplint.profile.model import IdleCause, Profile
from warplint.report.figures import milliseconds, share
from warplint.source.records import dataclass

TEXT_WIDTH = 48
"""Of a line's text: enough to know it by."""

WAITED_FOR: Mapping[Bottleneck, str] = {
    Bottleneck.DATA: "data",
    Bottleneck.SYNC: "a host that waits for the GPU",
    Bottleneck.LAUNCH: "the host to launch",
    Bottleneck.BANDWIDTH: "copies",
    Bottleneck.ALLOCATOR: "memory from the driver",
    Bottleneck.COMMUNICATION: "other GPUs",
}
"""What was looked at, in the words of the verdict that finds nothing."""

SUBJECTS: Mapping[Phase, str] = {
    Phase.DATA: "Loading",
    Phase.FORWARD: "The forward pass",
    Phase.BACKWARD: "The backward pass",
    Phase.OPTIMIZER: "The optimizer",
}
"""Who waits, in a phase's verdict."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the causes of one class claim of one kind of time: idle, or slower than it could be."""

    bottleneck: Bottleneck
    is_wait: bool
    charges: tuple[tuple[Cause, tuple[Charge, ...]], ...]
    """By cause, that of most time first."""

    @property
    def us(self) -> float:
        return sum(each.us for _, charges in self.charges for each in charges)

    @property
    def gain_us(self) -> float:
        return sum(each.gain_us for _, charges in self.charges for each in charges)

    @property
    def cause(self) -> Cause:
        return self.charges[0][0]


def diagnose(profile: Profile) -> Diagnosis:
    """Deterministic: the same profile, the same sentences."""
    steps = CapturedSteps(profile)
    refused = _no_ground(steps)
    if refused:
        return Diagnosis(Verdict(Bottleneck.NONE, "", refused, 0.0, "", 0, ()), ())
    charged = [(cause, tuple(cause.find(steps))) for cause in all_causes()]
    claims = _claims(charged)
    run = _run(steps, claims)
    phases = tuple(
        (phase, _of_phase(steps, phase, us, _claims(_in_phase(charged, phase))))
        for phase, us in steps.phase_us.items()
        if us > 0.0
    )
    return Diagnosis(run, phases)


def _no_ground(steps: CapturedSteps) -> str:
    """Why nothing can be said; empty where something can."""
    if not steps.totals.on_gpu:
        return "No GPU work was captured: this says nothing of what a GPU would wait for."
    if steps.program_us <= 0.0:
        return "No step was captured."
    return ""


Charged = Sequence[tuple[Cause, tuple[Charge, ...]]]


def _in_phase(charged: Charged, phase: Phase) -> Charged:
    return [(cause, tuple(each for each in charges if each.phase is phase)) for cause, charges in charged]


def _claims(charged: Charged) -> list[Claim]:
    """By falling gain."""
    groups: dict[tuple[Bottleneck, bool], list[tuple[Cause, tuple[Charge, ...]]]] = {}
    for cause, charges in charged:
        if charges:
            groups.setdefault((cause.bottleneck, cause.is_wait), []).append((cause, charges))
    claims = [
        Claim(bottleneck, is_wait, tuple(sorted(parts, key=lambda part: -sum(each.us for each in part[1]))))
        for (bottleneck, is_wait), parts in groups.items()
    ]
    return sorted(claims, key=lambda claim: -claim.gain_us)


def _strongest(steps: CapturedSteps, claims: Sequence[Claim], whole_us: float) -> Claim | None:
    """Waits come first: idle time is lost for certain, slow work might be the best there is."""
    least_us = THRESHOLDS.phase_least * steps.program_us
    enough = [
        claim for claim in claims if claim.gain_us >= max(least_us, claim.cause.threshold(steps) * whole_us)
    ]
    return min(enough, key=lambda claim: (not claim.is_wait, -claim.gain_us), default=None)


def _run(steps: CapturedSteps, claims: Sequence[Claim]) -> Verdict:
    claim = _strongest(steps, claims, steps.program_us)
    figures = _figures(steps)
    if claim is None:
        sentence = f"{_nothing(steps, claims)}{_unknown(steps, claims)}"
        return Verdict(Bottleneck.NONE, "", sentence, 0.0, "", 0, (*figures, *_looked_at(steps, claims)))
    us = steps.program_us
    return _verdict(steps, claim, _subject(steps), us, figures, _hidden(steps))


def _of_phase(steps: CapturedSteps, phase: Phase, us: float, claims: Sequence[Claim]) -> Verdict:
    claim = _strongest(steps, claims, us)
    figures = (Figure("phase_us", us / steps.steps), Figure("phase_share", steps.share(us)))
    if claim is not None:
        return _verdict(steps, claim, SUBJECTS[phase], us, figures)
    own = f"{milliseconds(us / steps.steps)} ms ({share(steps.share(us))} of the step)"
    sentence = f"{SUBJECTS[phase]} takes {own}, and nothing stands out in it."
    return Verdict(Bottleneck.NONE, "", sentence, 0.0, "", 0, (*figures, *_looked_at(steps, claims)))


def _verdict(
    steps: CapturedSteps, claim: Claim, who: str, whole_us: float, figures: Sequence[Figure], hidden: str = ""
) -> Verdict:
    cause, charges = claim.charges[0]
    said = cause.say(steps, charges)
    file, line = said.place or dearest(charges)
    part = share(steps.share(claim.us)) + ("" if whole_us == steps.program_us else " of the step")
    amount = (
        f"{milliseconds(claim.us / steps.steps)} of its {milliseconds(whole_us / steps.steps)} ms ({part})"
    )
    what = said.what.replace("{place}", _named(steps, file, line))
    sentence = f"{who} waits {amount} for {what}." if claim.is_wait else f"{who} spends {amount} on {what}."
    return Verdict(
        claim.bottleneck,
        cause.name,
        f"{sentence} {said.remedy}.{hidden}",
        steps.share(claim.us),
        file,
        line,
        (Figure("claimed_us", claim.us / steps.steps), *figures, *said.evidence),
    )


def _subject(steps: CapturedSteps) -> str:
    return "The step" if steps.totals.steps else "What was captured, no whole step,"


def _named(steps: CapturedSteps, file: str, line: int) -> str:
    # An imported trace may name no line, but an operator or an annotation.
    name = f"{file}:{line}" if line else file
    text = steps.text(file, line)
    if len(text) > TEXT_WIDTH:
        text = text[: TEXT_WIDTH - 1] + "…"
    return f"{name} `{text}`" if text else name


def _hidden(steps: CapturedSteps) -> str:
    """What a high figure of utilisation keeps from sight."""
    reading = steps.utilization
    if reading < THRESHOLDS.high_utilization:
        return ""
    return (
        f" GPU utilisation reads {share(reading)} here and hides this: it counts the time in which anything "
        "at all runs on the GPU."
    )


def _figures(steps: CapturedSteps) -> tuple[Figure, ...]:
    totals = steps.totals
    return (
        Figure("step_us", steps.program_us / steps.steps),
        Figure("gpu_busy_share", steps.share(totals.gpu_busy_us)),
        Figure("gpu_utilization", steps.utilization),
        Figure("capture_share", totals.capture_us / totals.wall_us if totals.wall_us else 0.0),
        Figure("unattributed_share", steps.share(totals.unattributed_us)),
    )


def _looked_at(steps: CapturedSteps, claims: Sequence[Claim]) -> tuple[Figure, ...]:
    """The share of each class that claimed anything, for verdicts that name none."""
    shares: dict[Bottleneck, float] = {}
    for claim in claims:
        shares[claim.bottleneck] = shares.get(claim.bottleneck, 0.0) + steps.share(claim.us)
    return tuple(
        Figure(f"{bottleneck.value}_share", shares.get(bottleneck, 0.0))
        for bottleneck in Bottleneck
        if bottleneck is not Bottleneck.NONE
    )


def _nothing(steps: CapturedSteps, claims: Sequence[Claim]) -> str:
    busy = share(steps.share(steps.totals.gpu_busy_us))
    each = "a step's" if steps.totals.steps else "the captured"
    whole = f"{each} {milliseconds(steps.program_us / steps.steps)} ms"
    start = f"Nothing stands out: the GPU works {busy} of {whole}"
    waits = [claim for claim in claims if claim.is_wait]
    if not waits:
        return f"{start}, and no wait was seen."
    most = waits[0]
    return (
        f"{start}, and the longest wait, for {WAITED_FOR[most.bottleneck]}, is {share(steps.share(most.us))}."
    )


def _unknown(steps: CapturedSteps, claims: Sequence[Claim]) -> str:
    return "".join(f" {sentence}" for sentence in _doubts(steps, claims))


def _doubts(steps: CapturedSteps, claims: Sequence[Claim]) -> Iterator[str]:
    """What may be behind the figures that are not claimed."""
    for claim in claims:
        launching = claim.bottleneck is Bottleneck.LAUNCH
        if launching and not steps.is_priced and steps.share(claim.us) >= THRESHOLDS.wait:
            yield "How much of that is the profiler's own doing is not known: `warplint run` measures it."
    warm_up = steps.share(steps.idle_us(IdleCause.WARMUP))
    if warm_up >= THRESHOLDS.unknown:
        yield f"CUDA took {share(warm_up)} to load kernels at their first launch: capture later steps."
    lost = steps.share(steps.totals.unattributed_us)
    if lost >= THRESHOLDS.unknown:
        yield f"{share(lost)} reached no line of the program's own source."
