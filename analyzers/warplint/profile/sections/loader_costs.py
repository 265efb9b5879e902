"""What a profile says of the workers that feed a program."""

from __future__ import annotations

from dataclasses import dataclass

COMPUTING = "computing"
WAITING = "waiting for storage, a lock or another process"
READY = "ready to run, but without a core"


@dataclass(frozen=True, slots=True)
class LoaderLine:
    """A line of the workers: means for one sample, in microseconds."""

    file: str
    line: int
    wall_us: float
    cpu_us: float
    waiting_us: float
    """For storage, a lock, another thread or process: neither computing nor ready to."""
    ready_us: float
    """Ready to run while others had the cores; 0 where the system does not count it, and then part of
    waiting."""
    samples: int
    """Items in the followed fetches that the means are of."""
    share: float
    """Of a sample's time, from 0 to 1."""

    @property
    def most_spent(self) -> str:
        """What most of its time went into: COMPUTING, WAITING or READY."""
        kinds = self._by_kind
        return max(kinds, key=lambda kind: kinds[kind])

    @property
    def most_spent_share(self) -> float:
        """How much of its time that was, from 0 to 1."""
        return self._by_kind[self.most_spent] / self.wall_us if self.wall_us else 0.0

    @property
    def _by_kind(self) -> dict[str, float]:
        return {COMPUTING: self.cpu_us, WAITING: self.waiting_us, READY: self.ready_us}


@dataclass(frozen=True, slots=True)
class Loader:
    """The workers whose lines these are."""

    dataset: str
    """Name of its class."""
    workers: int
    followed: int
    """Fetches that were followed and count here."""
    samples: int
    sample_us: float
    """Mean time of a sample in those fetches."""
    plain_sample_us: float
    """The same in fetches of the same workers that were not followed; 0 without any."""
    batch: float
    """Mean samples of a fetch."""
    busy_share: float
    """Of the workers' time, the part in which they fetched; the rest they waited to be asked."""
    unnamed_share: float
    """Of a sample's time, what stood on no line: torch's own collating, and fetching where no code is
    followed."""
    price_share: float
    """What following cost, of the workers' time in fetches."""
