"""From when on something is said. docs/diagnosis.md shows this table to users."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Shares are from 0 to 1, of the captured steps without what the capture itself took; ``_us`` are
    microseconds."""

    wait: float = 0.10
    """Of the step: less is lost in what steps scatter, and hardly worth a change of the program."""
    wait_unpriced: float = 0.25
    """The same for launching, where the capture's own price is not known: torch.profiler with stacks makes
    a launch-bound step up to twice as long."""
    launch_us: float = 200.0
    """For each launch: up to here idle time is that of launching, which takes 5 to 10 us by itself, and 50
    with its operator. What takes longer is other work of the host."""
    launch_unpriced_us: float = 500.0
    """The same, where the capture's own price is not known: a profiler makes it a few times as long."""
    small_us: float = 100.0
    """Kernels that are longer on average are not small: a launch takes 50 us with its operator, and a
    profiler makes it twice as long."""
    start_up: float = 0.50
    """Of an imported capture in longer waits for a launch: it is one of the program's start."""
    idle: float = 0.25
    """Idle time that is said, where nothing is found that it is for."""
    slowed: float = 3.5
    """By how many times recording makes a step longer at most. The most that is recorded in
    bench/results/h200 is 2.98 (3.58 to 10.67 ms, price-many_threads.json) and 2.53 (17.3 to 43.8 ms,
    agreement-launch_bound.json). Steps in a window that are longer still are other steps than those before
    it."""
    phase_least: float = 0.02
    """Of the step: a phase that loses less is not blamed. The other bounds are of the phase's own time
    there."""
    gain: float = 0.10
    """Of the step: what faster arithmetic, by this device's limits, or work done alone would free."""
    moving: float = 0.50
    """Of the step in kernels that only move memory. Below, they are the usual part of a model."""
    unknown: float = 0.10
    """Of the step that reached no line, or that CUDA took to load kernels: where nothing else is found, it is
    said."""
    busy_workers: float = 0.80
    """Of the workers' time in fetches: they do not keep up. Below, they wait to be asked."""
    unlike: float = 2.0
    """By how many times other fetches were longer than ones whose lines are known: these tell nothing."""
    link: float = 0.70
    """Of the link's nominal rate: what a large pinned copy reaches. More is not to be had."""
    high_utilization: float = 0.80
    """GPU utilisation that looks healthy, so that what it hides needs to be said."""


THRESHOLDS = Thresholds()
