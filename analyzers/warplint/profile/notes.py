"""The plain sentences in which a profile says how far it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warplint.profile.kineto.clock import Clock
from warplint.profile.model import Profile
from warplint.profile.raw.process import RawWindow
from warplint.profile.steps.ends import StepRange
from warplint.profile.steps.gpu_steps import RAN_AHEAD, GpuSteps
from warplint.profile.steps.regimes import StepHistory
from warplint.profile.totals.tally import Doubts

GPU_RECORDS = "GPU records"
"""In every sentence, and in no other, that says that they are missing: what is shown is then of the host."""


GOES_ON, NOT_CLOSED = "the run goes on, or was killed", "the process ended without closing its capture"


def lost_gpu_records(profile: Profile) -> str | None:
    """Why there are none of the GPU in what is shown; None where that is not for their loss."""
    lost = (note for note in profile.notes if GPU_RECORDS in note)
    return None if profile.totals.on_gpu else next(lost, None)


def unfinished(profile: Profile) -> str | None:
    """That the run has not ended as it should."""
    return next((said for said in (GOES_ON, NOT_CLOSED) for note in profile.notes if said in note), None)


def other_processes(shown: Path, others: list[Path]) -> list[str]:
    if not others:
        return []
    names = ", ".join(path.stem for path in others)
    return [f"costs are those of {shown.stem}; also captured and not shown: {names}"]


def open_window(window: int, run_ended: bool, lost_bytes: int) -> str:
    if not run_ended:
        return f"window {window} is open: {GOES_ON}; its {GPU_RECORDS} are not there"
    lost = f", and {lost_bytes} bytes of its last record" if lost_bytes else ""
    return f"the process ended inside window {window}: its {GPU_RECORDS} are lost{lost}"


def unended(run_ended: bool) -> str:
    """The process wrote no END, though no window was open."""
    if not run_ended:
        return GOES_ON
    return f"{NOT_CLOSED}: steps of its last second may be missing"


def trace_lost(window: int, name: str, why: str) -> str:
    return f"the {GPU_RECORDS} of window {window} are lost: {name}: {why}"


def clock(window: int, fitted: Clock) -> str:
    return (
        f"window {window}: the clocks of trace and lines agree within {fitted.residual_us:.2f} us"
        f"; the worst marker lies {fitted.violation_us:.2f} us outside its stamps"
    )


def ran_ahead(window: int, steps: StepRange, worked: GpuSteps) -> list[str]:
    """That steps are taken to be as long as the GPU needs for them, where the host launches them sooner."""
    launching_ns = steps.end_ns - steps.begin_ns
    if not steps.steps or worked.length_ns < RAN_AHEAD * launching_ns:
        return []
    launched, ran = (ns / 1e6 / steps.steps for ns in (launching_ns, worked.length_ns))
    return [
        f"window {window}: the host launched its steps in {launched:,.1f} ms each, ahead of the GPU, which "
        f"took {ran:,.1f} ms each: a step is counted as that"
    ]


def other_steps(shown: Sequence[RawWindow], others: Sequence[RawWindow], history: StepHistory) -> list[str]:
    """Windows that are left out, since their steps were others than those shown."""
    return [
        f"window {window.number} is left out: its steps took {history.step_us(window) / 1000:,.1f} ms, "
        f"those of window {shown[-1].number}, which is shown, {history.step_us(shown[-1]) / 1000:,.1f} ms"
        if window.step_kind == shown[-1].step_kind
        else f"window {window.number} is left out: it is of module calls, made before the program trained"
        for window in others
    ]


def doubts(found: Doubts) -> list[str]:
    """One sentence for each kind of record that is not accounted for."""
    said = [
        (found.launches_without_kernel, "launches have no record of their kernel"),
        (found.work_without_launch, "kernels or copies have no launch, and so no line"),
        (found.work_before_launch, "kernels or copies begin before their launch by the GPU's clock"),
        (found.malformed_events, "events of the trace were malformed and are left out"),
        (
            found.unknown_replays,
            "replays of CUDA graphs are on the line that replays them: no capture of the same work was seen",
        ),
        (
            found.unknown_compiled,
            "kernels or copies of compiled graphs are on the line that called their graph: "
            "what Inductor generated does not account for them",
        ),
    ]
    sentences = [f"{count} {what}" for count, what in said if count]
    if len(found.devices) > 1:
        sentences.append(f"{len(found.devices)} GPUs were used; busy means that any of them was")
    return sentences
