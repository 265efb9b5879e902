"""The step waits for its batch: the GPU idles while the host is in a DataLoader's ``__next__``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure, Phase
from warplint.profile.model import IdleCause
from warplint.profile.sections.loader_costs import Loader, LoaderLine
from warplint.report.figures import counted, milliseconds, share

ALL = 0.995
"""As a share in percent it would read 100%."""


def _waits(steps: CapturedSteps) -> list[Charge]:
    """Idle time of the GPU; without one the host's own wait, whose step is the program's."""
    if not steps.totals.on_gpu:
        # Workers that have time to spare are kept from handing over by the other work of the CPU.
        if steps.profile.loaders and steps.profile.loaders[0].busy_share < THRESHOLDS.busy_workers:
            return []
        return [
            charge(cost.felt_data_us, cost.file, cost.line, Phase.DATA)
            for cost in steps.lines
            if cost.felt_data_us > 0.0
        ]
    return [
        charge(us, each.cost.file, each.cost.line, Phase.DATA)
        for each in steps.waits
        if (us := each.us.get(IdleCause.DATA, 0.0)) > 0.0
    ]


def _workers(steps: CapturedSteps) -> tuple[Loader, LoaderLine] | None:
    """None where none were seen, or those fetches that were followed are unlike the others."""
    profile = steps.profile
    if not profile.loaders or not profile.loader:
        return None
    loader = profile.loaders[0]
    unlike = loader.plain_sample_us > THRESHOLDS.unlike * loader.sample_us
    return None if unlike else (loader, profile.loader[0])


def _kind(steps: CapturedSteps) -> str:
    """Which row of the table it is."""
    found = _workers(steps)
    if found is None:
        return "no workers seen"
    loader, _ = found
    if loader.busy_share < THRESHOLDS.busy_workers:
        return "workers wait to be asked"
    spent = {
        "workers compute": sum(each.cpu_us for each in steps.profile.loader),
        "workers wait for storage": sum(each.waiting_us for each in steps.profile.loader),
        "workers lack cores": sum(each.ready_us for each in steps.profile.loader),
    }
    return max(spent, key=lambda kind: spent[kind])


def _found(name: str) -> Callable[[CapturedSteps], list[Charge]]:
    def find(steps: CapturedSteps) -> list[Charge]:
        return _waits(steps) if _kind(steps) == name else []

    return find


def _evidence(steps: CapturedSteps) -> tuple[Figure, ...]:
    figures = [Figure("felt_data_us", steps.totals.felt_data_us / steps.steps)]
    found = _workers(steps)
    if found is not None:
        loader, line = found
        figures += [
            Figure("workers", loader.workers),
            Figure("worker_busy_share", loader.busy_share),
            Figure("sample_us", loader.sample_us),
            Figure("line_share_of_sample", line.share),
            Figure("line_cpu_us", line.cpu_us),
            Figure("line_waiting_us", line.waiting_us),
            Figure("line_ready_us", line.ready_us),
        ]
    return tuple(figures)


def _in_program(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    whole = sum(each.us for each in charges)
    largest = max(charges, key=lambda each: each.us)
    part = "all" if largest.us >= ALL * whole else share(largest.us / whole)
    return Said(
        f"data; {part} of that is spent on {{place}}",
        "Load in worker processes (`num_workers`), in more of them, or make that line cheaper",
        _evidence(steps),
    )


def _by_workers(what: str, remedy: str) -> Callable[[CapturedSteps, Sequence[Charge]], Said]:
    def say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
        found = _workers(steps)
        assert found is not None, "found by its workers"
        loader, line = found
        workers = counted(loader.workers, "worker")
        return Said(
            f"data: its {workers} {what.format(busy=share(loader.busy_share))}, and "
            f"{share(line.share)} of a sample's {milliseconds(loader.sample_us)} ms is {{place}}",
            remedy,
            _evidence(steps),
            (line.file, line.line),
        )

    return say


def _asked(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    found = _workers(steps)
    assert found is not None, "found by its workers"
    return Said(
        f"data at {{place}}, though its {counted(found[0].workers, 'worker')} fetch only "
        f"{share(found[0].busy_share)} of the time: batches are not handed over in time",
        "Keep workers alive between epochs (`persistent_workers`), prefetch more (`prefetch_factor`), and "
        "hand over fewer, larger tensors",
        _evidence(steps),
    )


def _threshold(steps: CapturedSteps) -> float:
    return THRESHOLDS.wait


_ROWS: tuple[tuple[str, Callable[[CapturedSteps, Sequence[Charge]], Said]], ...] = (
    ("no workers seen", _in_program),
    ("workers wait to be asked", _asked),
    (
        "workers compute",
        _by_workers(
            "compute {busy} of the time",
            "Make that line cheaper, do it once ahead of training or on the GPU, or start more workers "
            "while there are cores",
        ),
    ),
    (
        "workers wait for storage",
        _by_workers(
            "fetch {busy} of the time, mostly waiting for storage, a lock or another process",
            "Keep the data nearer or in fewer, larger files, or start more workers",
        ),
    ),
    (
        "workers lack cores",
        _by_workers(
            "fetch {busy} of the time, mostly ready to run but without a core",
            "Give the job more cores, or start fewer workers and threads",
        ),
    ),
)
CAUSES = tuple(Cause(name, Bottleneck.DATA, True, _found(name), say, _threshold) for name, say in _ROWS)
