"""The step waits for its batch: the GPU idles while the host is in a DataLoader's ``__next__``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from warplint.advice.diagnosis.captured import CapturedSteps
from warplint.advice.diagnosis.cause import Cause, Charge, Said, charge
from warplint.advice.diagnosis.thresholds import THRESHOLDS
from warplint.advice.diagnosis.verdict import Bottleneck, Figure, Phase
from warplint.profile.model import IdleCause
from warplint.profile.sections.loader_costs import COMPUTING, READY, WAITING, Loader, LoaderLine
from warplint.report.figures import milliseconds, share, workers_fetch

KINDS: Mapping[str, str] = {
    COMPUTING: "workers compute",
    WAITING: "workers wait for storage",
    READY: "workers lack cores",
}
"""Rows of the table, by what most of the dearest line's time went into: advice is for that line."""
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
    if found[0].busy_share < THRESHOLDS.busy_workers:
        return "workers wait to be asked"
    return KINDS[found[1].most_spent]


def _found(name: str) -> Callable[[CapturedSteps], list[Charge]]:
    def find(steps: CapturedSteps) -> list[Charge]:
        return _waits(steps) if _kind(steps) == name else []

    return find


def _evidence(steps: CapturedSteps) -> tuple[Figure, ...]:
    figures = [Figure("felt_data_us", steps.totals.felt_data_us / steps.steps)]
    found = _workers(steps)
    if found is not None:
        loader, line = found
        computing, waiting, ready = _shares(steps, loader)
        figures += [
            Figure("workers", loader.workers),
            Figure("worker_busy_share", loader.busy_share),
            Figure("sample_us", loader.sample_us),
            Figure("computing_share_of_sample", computing),
            Figure("waiting_share_of_sample", waiting),
            Figure("ready_share_of_sample", ready),
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


def _by_workers(remedy: str) -> Callable[[CapturedSteps, Sequence[Charge]], Said]:
    def say(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
        found = _workers(steps)
        assert found is not None, "found by its workers"
        loader, line = found
        computing, waiting, ready = _shares(steps, loader)
        # Not every system counts it.
        coreless = f", {share(ready)} without a core" if ready else ""
        return Said(
            f"data: its {workers_fetch(loader.workers)} {share(loader.busy_share)} of the time "
            f"({share(computing)} of that computing, {share(waiting)} waiting{coreless}), and "
            f"{share(line.share)} of a sample's {milliseconds(loader.sample_us)} ms is {{place}}: "
            f"{share(line.most_spent_share)} {line.most_spent}",
            remedy,
            _evidence(steps),
            (line.file, line.line),
        )

    return say


def _shares(steps: CapturedSteps, loader: Loader) -> tuple[float, float, float]:
    """What a sample's lines compute, wait, and are ready for without a core, of its time."""
    lines, us = steps.profile.loader, loader.sample_us
    sums = (
        sum(each.cpu_us for each in lines),
        sum(each.waiting_us for each in lines),
        sum(each.ready_us for each in lines),
    )
    computing, waiting, ready = (each / us if us else 0.0 for each in sums)
    return computing, waiting, ready


def _asked(steps: CapturedSteps, charges: Sequence[Charge]) -> Said:
    found = _workers(steps)
    assert found is not None, "found by its workers"
    return Said(
        f"data at {{place}}, though its {workers_fetch(found[0].workers)} only "
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
            "Make that line cheaper, do it once ahead of training or on the GPU, or start more workers "
            "while there are cores",
        ),
    ),
    (
        "workers wait for storage",
        _by_workers(
            "Keep the data nearer or in fewer, larger files, or start more workers",
        ),
    ),
    (
        "workers lack cores",
        _by_workers(
            "Give the job more cores, or start fewer workers and threads",
        ),
    ),
)
CAUSES = tuple(Cause(name, Bottleneck.DATA, True, _found(name), say, _threshold) for name, say in _ROWS)
