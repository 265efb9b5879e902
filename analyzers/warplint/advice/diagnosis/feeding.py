"""Whether idle time in which the host launches, or runs Python, is launching at all.

Launching costs some microseconds for each launch. A line where the GPU idles much longer before each is one
where the host does something else: Python on the same line, operators on CPU tensors, or, in the first steps,
CUDA's start, the loading of its kernels, compilers and tuning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplint.advice.diagnosis.host_waits import CATCHING_UP, LineWaits
from warplint.profile.model import IdleCause, LineCost
from warplint.source.records import dataclass, field


@dataclass(slots=True)
class Feeding:
    """Lines by what keeps the GPU waiting there.

    ``launching``: the launches; ``python``: lines without any; ``slow``: few launches, each of which takes
    the host longer than launching does.
    """

    launching: list[LineWaits] = field(default_factory=list)
    python: list[LineWaits] = field(default_factory=list)
    slow: list[LineWaits] = field(default_factory=list)

    @property
    def slow_us(self) -> float:
        return sum(fed_us(each) for each in self.slow)


def fed_us(waits: LineWaits) -> float:
    return sum(waits.us.get(cause, 0.0) for cause in CATCHING_UP)


def feeding(
    waits: Sequence[LineWaits], launches: int, is_backward: Callable[[LineCost], bool], most_us: float
) -> Feeding:
    """``launches`` are those of the capture; without any it has no host, and nothing is known of one.

    ``most_us``: for each launch, up to which idle time is that of launching.
    """
    found = Feeding()
    idle = [each for each in waits if launches and fed_us(each) > 0.0]
    autograd = [each for each in idle if is_backward(each.cost)]
    # What autograd launches is charged to the lines of the forward pass.
    autograd_us = sum(fed_us(each) for each in autograd) / launches if autograd else 0.0
    for each in idle:
        if is_backward(each.cost):
            launch_us = autograd_us
        elif each.cost.launches:
            launch_us = fed_us(each) / each.cost.launches
        elif each.us.get(IdleCause.LAUNCH, 0.0) > 0.0:
            launch_us = fed_us(each) / launches
        else:
            found.python.append(each)
            continue
        (found.launching if launch_us <= most_us else found.slow).append(each)
    return found
