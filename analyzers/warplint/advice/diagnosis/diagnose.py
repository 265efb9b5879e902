"""Weighs what the causes claim, and says the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, all_causes, dearest
from warplint.advice.diagnosis.feeding import fed_us
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Diagnosis, Figure, Phase, Verdict
from warplint.profile.model import IdleCause, Profile
from warplint.profile.notes import lost_gpu_records, unfinished
from warplint.report.figures import milliseconds, share
from warplint.source.quoted import quoted
from warplint.source.records import dataclass

TRAFFIC = "traffic"

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
GPU = "The GPU"
"""Who waits while data are loaded, and does nothing else meanwhile."""


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
    charged = [(cause, tuple(cause.find(steps))) for cause in _asked(steps)]
    refused = _no_ground(steps, charged)
    if refused:
        return Diagnosis(Verdict(Bottleneck.NONE, "", refused, 0.0, "", 0, ()), ())
    run = _run(steps, _claims(charged))
    phases = tuple(
        (phase, _of_phase(steps, phase, us, _claims(_in_phase(charged, phase))))
        for phase, us in steps.phase_us.items()
        if us > 0.0
    )
    return Diagnosis(run, phases)


def _asked(steps: CapturedSteps) -> Iterator[Cause]:
    """All causes; none where a program starts, and without a GPU those alone that concern the host."""
    starting = steps.share(steps.start_up_us) >= THRESHOLDS.start_up
    for cause in () if starting else all_causes():
        if steps.totals.on_gpu or cause.bottleneck is Bottleneck.DATA:
            yield cause


def _no_ground(steps: CapturedSteps, charged: Charged) -> str:
    """Why nothing can be said; empty where something can."""
    lost = lost_gpu_records(steps.profile)
    if lost is not None:
        return f"Nothing can be said of the step: {lost}."
    if steps.program_us <= 0.0:
        ended = unfinished(steps.profile)
        why = "" if ended is None else f", and {ended}"
        return f"No step was captured{why}: run longer, or begin earlier (`warplint run --after 0`)."
    if not steps.totals.on_gpu and _strongest(steps, _claims(charged), steps.program_us) is None:
        return (
            "No GPU work was captured: this says nothing of what a GPU would wait for. Run it where there is "
            "one; `warplint show` has what lines take on this CPU."
        )
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
    enough = [
        claim
        for claim in claims
        if claim.gain_us >= max(_least(claim) * steps.program_us, claim.cause.threshold(steps) * whole_us)
    ]
    return min(enough, key=lambda claim: (not claim.is_wait, -claim.gain_us), default=None)


def _least(claim: Claim) -> float:
    """Of the whole step. Slow work has a phase's own share for certain: an optimizer only moves memory."""
    return THRESHOLDS.phase_least if claim.is_wait else THRESHOLDS.gain


def _run(steps: CapturedSteps, claims: Sequence[Claim]) -> Verdict:
    claim = _strongest(steps, claims, steps.program_us)
    figures = _figures(steps)
    if claim is None:
        sentence = f"{_nothing(steps, claims)}{_doubt(steps, claims)}"
        return Verdict(Bottleneck.NONE, "", sentence, 0.0, "", 0, (*figures, *_looked_at(steps, claims)))
    us = steps.program_us
    figures = (*figures, *_looked_at(steps, claims))
    return _verdict(steps, claim, _subject(steps), us, figures, _hidden(steps), _queued(steps, claim))


def _of_phase(steps: CapturedSteps, phase: Phase, us: float, claims: Sequence[Claim]) -> Verdict:
    claim = _strongest(steps, claims, us)
    figures = (Figure("phase_us", us / steps.steps), Figure("phase_share", steps.share(us)))
    if claim is not None:
        return _verdict(steps, claim, SUBJECTS[phase] if phase is not Phase.DATA else GPU, us, figures)
    own = f"{milliseconds(us / steps.steps)} ms ({share(steps.share(us))} of {_whole(steps)})"
    idles = 2 * steps.phase_busy_us[phase] < us and steps.share(us) >= THRESHOLDS.unknown
    found = "mostly idle, and nothing in it is known to be why" if idles else "and nothing stands out in it"
    sentence = f"{SUBJECTS[phase]} takes {own}, {found}."
    return Verdict(Bottleneck.NONE, "", sentence, 0.0, "", 0, (*figures, *_looked_at(steps, claims)))


def _verdict(
    steps: CapturedSteps,
    claim: Claim,
    who: str,
    whole_us: float,
    figures: Sequence[Figure],
    hidden: str = "",
    beside: str = "",
) -> Verdict:
    """``hidden`` is said of the amount, ``beside`` at the end of the first sentence."""
    cause, charges = claim.charges[0]
    said = cause.say(steps, charges)
    file, line = said.place or dearest(charges)
    spent = f"{milliseconds(claim.us / steps.steps)} ms" if who == GPU else _amount(steps, claim.us, whole_us)
    amount = f"{spent} ({_part(steps, claim.us, whole_us)}{hidden})"
    what = said.what.replace("{place}", _named(steps, file, line))
    does = f"waits {amount} for" if claim.is_wait else f"spends {amount} on"
    return Verdict(
        claim.bottleneck,
        cause.name,
        f"{who} {does} {what}{beside}. {said.remedy}.",
        steps.share(claim.us),
        file,
        line,
        (Figure("claimed_us", claim.us / steps.steps), *figures, *said.evidence),
    )


def _amount(steps: CapturedSteps, us: float, whole_us: float) -> str:
    part, whole = milliseconds(us / steps.steps), milliseconds(whole_us / steps.steps)
    return f"all of its {whole} ms" if part == whole else f"{part} of its {whole} ms"


def _part(steps: CapturedSteps, us: float, whole_us: float) -> str:
    is_run = whole_us == steps.program_us
    return share(steps.share(us)) + ("" if is_run else f" of {_whole(steps)}")


def _subject(steps: CapturedSteps) -> str:
    who = "the step" if steps.totals.steps else "the capture (no whole step)"
    return who.capitalize() if steps.totals.on_gpu else f"On this CPU, {who}"


def _whole(steps: CapturedSteps) -> str:
    return "the step" if steps.totals.steps else "the capture"


def _named(steps: CapturedSteps, file: str, line: int) -> str:
    # An imported trace may name no line, but an operator or an annotation.
    name = f"{file}:{line}" if line else file
    text = quoted(steps.text(file, line))
    return f"{name} `{text}`" if text else name


def _hidden(steps: CapturedSteps) -> str:
    """That a high figure of utilisation keeps it from sight."""
    reading = steps.utilization
    if reading < THRESHOLDS.high_utilization:
        return ""
    return f", which a GPU utilisation of {share(reading)} hides: any work counts in it"


def _queued(steps: CapturedSteps, claim: Claim) -> str:
    """Idle time of the GPU's own, where it is more than what is claimed."""
    us = steps.idle_us(IdleCause.DEVICE)
    if not claim.is_wait or us <= claim.us or steps.share(us) < THRESHOLDS.unknown:
        return ""
    return f"; another {share(steps.share(us))} passes while the next work has been launched and not begun"


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
    """The share of each class. Memory traffic is work, and stands apart from copies that are waited for."""
    shares = {_looked_for(claim): steps.share(claim.us) for claim in claims}
    classes = [each.value for each in Bottleneck if each is not Bottleneck.NONE]
    return tuple(Figure(f"{name}_share", shares.get(name, 0.0)) for name in (*classes, TRAFFIC))


def _looked_for(claim: Claim) -> str:
    is_traffic = claim.bottleneck is Bottleneck.BANDWIDTH and not claim.is_wait
    return TRAFFIC if is_traffic else claim.bottleneck.value


def _nothing(steps: CapturedSteps, claims: Sequence[Claim]) -> str:
    busy = steps.share(steps.totals.gpu_busy_us)
    each = "a step's" if steps.totals.steps else "the captured"
    whole = f"{each} {milliseconds(steps.program_us / steps.steps)} ms"
    idles = 1.0 - busy >= THRESHOLDS.idle
    start = (
        f"The GPU idles {share(1.0 - busy)} of {whole}, and why is not known for enough of that"
        if idles
        else f"Nothing stands out: the GPU works {share(busy)} of {whole}"
    )
    most = next((claim for claim in claims if claim.is_wait), None)
    if most is None:
        return f"{start}." if idles else f"{start}, and no wait was seen."
    longest = f"the longest wait, for {WAITED_FOR[most.bottleneck]}, is {share(steps.share(most.us))}"
    return f"{start}; {longest}." if idles else f"{start}, and {longest}."


def _doubt(steps: CapturedSteps, claims: Sequence[Claim]) -> str:
    """What may be behind most of what is not claimed, as a sentence; nothing where that is little."""
    _, sentence = max(_doubts(steps, claims), key=lambda doubt: doubt[0], default=(0.0, ""))
    return f" {sentence}" if sentence else ""


def _doubts(steps: CapturedSteps, claims: Sequence[Claim]) -> Iterator[tuple[float, str]]:
    """What may be behind the figures that are not claimed, each with its share of the step."""
    for claim in claims:
        launching = claim.bottleneck is Bottleneck.LAUNCH
        if launching and not steps.is_priced and steps.share(claim.us) >= THRESHOLDS.wait:
            yield (
                steps.share(claim.us),
                "How much of that is the profiler's own doing is not known: `warplint run` measures it.",
            )
    starting = steps.share(steps.start_up_us)
    if starting >= THRESHOLDS.unknown:
        slow = max(steps.feeding.slow, key=lambda each: (fed_us(each), each.cost.place))
        yield (
            starting,
            f"{share(starting)} passes before few launches, most of it at "
            f"{_named(steps, slow.cost.file, slow.cost.line)}, as a program's start does, when CUDA loads "
            "kernels and compiles or tunes them: capture later steps.",
        )
    nowhere = steps.share(steps.nowhere_us)
    if nowhere >= THRESHOLDS.unknown:
        yield (
            nowhere,
            f"{share(nowhere)} passes outside of all operators, and the trace names no line there: "
            "`warplint run` would.",
        )
    if not steps.totals.launches and steps.totals.gpu_busy_us:
        yield 1.0, "The trace has no calls of the host, so it does not tell what the GPU waited for."
    queued = steps.share(steps.idle_us(IdleCause.DEVICE))
    if queued >= THRESHOLDS.unknown:
        yield (
            queued,
            f"{share(queued)} passes while the next work has been launched and not begun: the GPU's own time "
            "between pieces of work, or a wait for another stream or GPU.",
        )
    warm_up = steps.share(steps.idle_us(IdleCause.WARMUP))
    if warm_up >= THRESHOLDS.unknown:
        yield (
            warm_up,
            f"CUDA took {share(warm_up)} to load kernels at their first launch: capture later steps.",
        )
    lost = steps.share(steps.totals.unattributed_us)
    if lost >= THRESHOLDS.unknown:
        yield lost, f"{share(lost)} reached no line of the program's own source."
