"""GPU work whose lines are not those that its launch was called from: of compiled and of captured graphs."""

from __future__ import annotations

from dataclasses import dataclass

from warplint.profile.attribution.charge import Phase
from warplint.profile.attribution.compiled import CompiledLines
from warplint.profile.attribution.graphs import ReplayedLines


@dataclass(frozen=True, slots=True)
class InnerLines:
    """Of one window."""

    compiled: CompiledLines
    replayed: ReplayedLines

    def of_work(self, work: int) -> tuple[int, ...]:
        """The places that a piece of work comes from; empty where it is as its launch says."""
        places = self.compiled.of_work(work)
        launch = None if places else self.replayed.of_work(work)
        return places if launch is None else (launch.place,)

    def of_call(self, call: int) -> tuple[int, ...]:
        """The same for a host call. A replay is one launch, of the line that replays."""
        return self.compiled.of_call(call)

    def phase(self, work: int) -> Phase | None:
        """The phase of the step in which a replayed piece of work was captured."""
        launch = self.replayed.of_work(work)
        return None if launch is None else launch.phase
