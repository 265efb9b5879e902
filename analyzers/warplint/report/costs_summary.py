"""A capture in one sentence."""

from __future__ import annotations

from warplint.profile.model import IdleCause, Profile, Totals
from warplint.profile.notes import lost_gpu_records
from warplint.report.figures import count, counted, milliseconds, share

SMALLEST_CAUSE = 0.005
"""Causes of less idle time than this share of the wall time are not named in the sentence."""

SLOWED = 0.02
"""A capture that lengthened steps by less is not mentioned: steps scatter by as much."""


def summary(profile: Profile) -> str:
    totals = profile.totals
    if not totals.wall_us:
        return "no step was captured"
    parts = [_what_ran(profile)]
    if totals.on_gpu:
        parts[0] += f": GPU busy {_percent(totals, totals.gpu_busy_us)}, {_idle(profile)}"
        parts.append(_counts(totals))
    parts.append(f"{_percent(totals, totals.unattributed_us)} unattributed")
    return "; ".join(parts)


def _what_ran(profile: Profile) -> str:
    totals = profile.totals
    lost = lost_gpu_records(profile) is not None
    on_host = "the host (the GPU records are missing)" if lost else "the CPU (no GPU work was captured)"
    where = totals.device if totals.on_gpu else on_host
    if not totals.steps:
        return f"{milliseconds(totals.wall_us)} ms without a whole step on {where}"
    steps = (
        f"{counted(totals.steps, 'step')} of {milliseconds(totals.program_us / totals.steps)} ms on {where}"
    )
    if totals.capture_us < SLOWED * totals.program_us:
        return steps
    return f"{steps} ({milliseconds(totals.wall_us / totals.steps)} ms while captured)"


def _idle(profile: Profile) -> str:
    totals, causes = profile.totals, _causes(profile)
    named = ", ".join(
        f"{cause.value} {_percent(totals, us)}"
        for cause, us in sorted(causes.items(), key=lambda item: -round(item[1]))
        if us >= SMALLEST_CAUSE * totals.program_us and cause is not IdleCause.CAPTURE
    )
    return f"idle {_percent(totals, totals.gpu_idle_us - totals.capture_us)}" + (
        f" ({named})" if named else ""
    )


def _causes(profile: Profile) -> dict[IdleCause, float]:
    causes = dict.fromkeys(IdleCause, 0.0)
    for cost in profile.lines:
        for cause, us in cost.idle_us.items():
            causes[cause] += us
    return causes


def _counts(totals: Totals) -> str:
    steps = totals.steps or 1
    kinds = ((totals.kernels, "kernel"), (totals.copies, "copy"), (totals.waits, "wait"))
    counts = [_each(number / steps, one) for number, one in kinds]
    return f"{counts[0]}, {counts[1]} and {counts[2]}" + (" a step" if totals.steps else "")


def _each(number: float, one: str) -> str:
    many = {"copy": "copies"}.get(one, one + "s")
    shown = count(number)
    return f"{shown} {one if shown == '1' else many}"


def _percent(totals: Totals, us: float) -> str:
    return share(us / totals.program_us) if totals.program_us else share(0.0)
