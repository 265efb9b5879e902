"""What a joined capture says: totals of the captured steps and costs per line.

Field names are those of ``warplint show --format json`` (docs/show-json.md). Times are microseconds.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from warplint.profile.sections.compilation import GraphBreak, Recompilation
from warplint.profile.sections.device_readings import DeviceReading
from warplint.profile.sections.felt_costs import FeltWait
from warplint.profile.sections.fused import FusedShare
from warplint.profile.sections.loader_costs import Loader, LoaderLine
from warplint.profile.sections.named_costs import KernelGroup, LayerCost, TinyCopies
from warplint.profile.sections.step_points import ChangePoint, StepPoint
from warplint.profile.sections.window_price import WindowPrice


class IdleCause(str, enum.Enum):
    """Why the GPU had nothing to do while the launching thread was on a line."""

    DATA = "data"
    """The host was inside a DataLoader's ``__next__``."""
    SYNC = "sync"
    """The host was inside a call that waits for the device."""
    COPY = "copy"
    """The host was inside a copy between host and device."""
    ALLOC = "alloc"
    """The host was inside cudaMalloc, cudaFree or their like."""
    LAUNCH = "launch"
    """The host was inside an operator that launches: it feeds the GPU, slower than the GPU works."""
    HOST = "host"
    """The host ran other Python or native code."""
    WARMUP = "warm-up"
    """CUDA loaded or compiled a kernel at its first launch."""
    CAPTURE = "capture"
    """The capture itself: its records took the host time, or the GPU's tracer made room for them."""
    DEVICE = "device"
    """The next work had been launched already: the GPU's own step from one to the next, or a wait for another
    stream. The line is that of the next work."""


@dataclass(slots=True)
class KernelCost:
    """One kernel name on one line: GPU time (not overlap-corrected) and how often it ran."""

    name: str
    us: float
    count: int


@dataclass(slots=True)
class LineCost:
    """What one line of source cost in the captured steps.

    ``file`` is relative to the project root, with forward slashes, or absolute when outside it. ``line`` is 0
    where an imported trace names no line: ``file`` is then the name of an operator or annotation.
    ``busy_us`` counts overlapping kernels and copies once, so that it sums to ``Totals.gpu_busy_us``.
    ``gpu_*_us`` are plain sums of kernel, copy and memset time by phase; ``gpu_recompute_us`` is the part of
    the backward's that checkpointing made this line compute again. ``cpu_us`` is wall time the stepping
    thread's innermost user frame stood on this line. ``share`` is this line's part of the captured wall time:
    busy plus idle on a GPU, ``cpu_us`` without one. ``kernels`` are by falling time, copies and fills among
    them. ``fused_us`` is the part of ``gpu_us`` that is this line's even share of kernels it is fused in with
    others. ``felt_us`` is how long the host was held up at this line, the sum of its parts;
    ``exposed_copy_us`` is copy time of the line's with no kernel beside it. ``worker_us`` and
    ``worker_waiting_us`` are of one sample, in loader workers. Every key: docs/show-json.md.
    """

    file: str
    line: int
    busy_us: float = 0.0
    gpu_forward_us: float = 0.0
    gpu_backward_us: float = 0.0
    gpu_optimizer_us: float = 0.0
    gpu_recompute_us: float = 0.0
    launches: int = 0
    copies: int = 0
    copy_bytes: int = 0
    waits: int = 0
    wait_us: float = 0.0
    idle_us: dict[IdleCause, float] = field(default_factory=dict)
    cpu_us: float = 0.0
    share: float = 0.0
    fused_us: float = 0.0
    felt_us: float = 0.0
    felt_sync_us: float = 0.0
    felt_copy_us: float = 0.0
    felt_queue_us: float = 0.0
    felt_alloc_us: float = 0.0
    felt_data_us: float = 0.0
    exposed_copy_us: float = 0.0
    worker_us: float = 0.0
    worker_waiting_us: float = 0.0
    kernels: list[KernelCost] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def gpu_us(self) -> float:
        return self.gpu_forward_us + self.gpu_backward_us + self.gpu_optimizer_us

    def busy_part_us(self, us: float) -> float:
        """The part of ``busy_us`` of work whose plain sum is ``us``: overlapping work counts once."""
        return us * self.busy_us / self.gpu_us if us else 0.0

    @property
    def total_idle_us(self) -> float:
        return sum(self.idle_us.values())


@dataclass(slots=True)
class Totals:
    """The captured steps as a whole. ``wall_us`` = ``gpu_busy_us`` + ``gpu_idle_us`` when a GPU was captured.

    ``capture_us`` is the part of ``gpu_idle_us`` that the capture itself caused (own_time.py).

    ``unattributed_us`` is busy and idle time that reached no line of the user's source. ``device`` is the
    GPU's name, or ``cpu``.
    """

    wall_us: float = 0.0
    gpu_busy_us: float = 0.0
    gpu_idle_us: float = 0.0
    capture_us: float = 0.0
    unattributed_us: float = 0.0
    kernel_us: float = 0.0
    kernels: int = 0
    copies: int = 0
    copy_bytes: int = 0
    waits: int = 0
    wait_us: float = 0.0
    launches: int = 0
    felt_us: float = 0.0
    felt_data_us: float = 0.0
    exposed_copy_us: float = 0.0
    steps: int = 0
    device: str = "cpu"
    driver: str = ""
    torch: str = ""

    @property
    def on_gpu(self) -> bool:
        return self.device != "cpu"

    @property
    def program_us(self) -> float:
        """The captured steps without what the capture itself took: shares are of this."""
        return self.wall_us - self.capture_us


@dataclass(slots=True)
class CapturedSource:
    """A source file as the captured program saw it; ``digest`` is ``SourceText.digest``."""

    file: str
    digest: str
    text: str


@dataclass(slots=True)
class Profile:
    """A capture ready to be shown: totals, lines by falling share, sources by ``LineCost.file``.

    The fields after ``notes`` are its sections (sections/table.py).
    """

    name: str
    command: list[str]
    totals: Totals
    lines: list[LineCost]
    sources: dict[str, CapturedSource]
    notes: list[str] = field(default_factory=list)
    """Plain sentences: the price of the capture, what was lost, launches without kernels, clock residual."""
    windows: list[WindowPrice] = field(default_factory=list)
    layers: list[LayerCost] = field(default_factory=list)
    kernel_groups: list[KernelGroup] = field(default_factory=list)
    tiny_copies: list[TinyCopies] = field(default_factory=list)
    steps: list[StepPoint] = field(default_factory=list)
    change_points: list[ChangePoint] = field(default_factory=list)
    fused: list[FusedShare] = field(default_factory=list)
    graph_breaks: list[GraphBreak] = field(default_factory=list)
    recompilations: list[Recompilation] = field(default_factory=list)
    loader: list[LoaderLine] = field(default_factory=list)
    loaders: list[Loader] = field(default_factory=list)
    felt: list[FeltWait] = field(default_factory=list)
    device_readings: list[DeviceReading] = field(default_factory=list)
