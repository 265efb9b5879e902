"""Adds up what windows cost, in whole nanoseconds, and turns the sums into the result types."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, fields

from warplint.profile.attribution.charge import Phase
from warplint.profile.attribution.felt import FeltTally
from warplint.profile.model import IdleCause, KernelCost, LineCost, Totals
from warplint.profile.names.named_work import NamedWork
from warplint.profile.sections.felt_costs import FeltPart
from warplint.profile.sections.fused import FusedTally

LineKey = tuple[str, int]
"""File and line, as in ``LineCost``."""


@dataclass(slots=True)
class LineTally:
    """The cost of one place so far. See ``LineCost`` for what each figure means."""

    busy_ns: int = 0
    gpu_ns: dict[Phase, int] = field(default_factory=lambda: defaultdict(int))
    launches: int = 0
    copies: int = 0
    copy_bytes: int = 0
    waits: int = 0
    wait_ns: int = 0
    idle_ns: dict[IdleCause, int] = field(default_factory=lambda: defaultdict(int))
    cpu_ns: int = 0
    kernel_ns: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    kernel_counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    recompute_ns: int = 0
    fused_ns: int = 0
    exposed_copy_ns: int = 0

    def add(self, other: LineTally) -> None:
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if isinstance(mine, dict):
                for key, value in theirs.items():
                    mine[key] += value
            else:
                setattr(self, each.name, mine + theirs)

    @property
    def capture_ns(self) -> int:
        return self.idle_ns.get(IdleCause.CAPTURE, 0)

    @property
    def felt_and_caused_ns(self) -> int:
        return self.busy_ns + sum(self.idle_ns.values()) - self.capture_ns

    def to_cost(
        self, file: str, line: int, program_ns: int, on_gpu: bool, felt_ns: dict[FeltPart, int]
    ) -> LineCost:
        part_ns = self.felt_and_caused_ns if on_gpu else self.cpu_ns
        kernels = [
            KernelCost(name, ns / 1000, self.kernel_counts[name])
            for name, ns in sorted(self.kernel_ns.items(), key=lambda item: (-item[1], item[0]))
        ]
        return LineCost(
            file=file,
            line=line,
            busy_us=self.busy_ns / 1000,
            gpu_forward_us=self.gpu_ns[Phase.FORWARD] / 1000,
            gpu_backward_us=self.gpu_ns[Phase.BACKWARD] / 1000,
            gpu_optimizer_us=self.gpu_ns[Phase.OPTIMIZER] / 1000,
            launches=self.launches,
            copies=self.copies,
            copy_bytes=self.copy_bytes,
            waits=self.waits,
            wait_us=self.wait_ns / 1000,
            idle_us={cause: self.idle_ns[cause] / 1000 for cause in IdleCause if self.idle_ns.get(cause)},
            cpu_us=self.cpu_ns / 1000,
            share=part_ns / program_ns if program_ns else 0.0,
            gpu_recompute_us=self.recompute_ns / 1000,
            fused_us=self.fused_ns / 1000,
            felt_us=sum(felt_ns.values()) / 1000,
            felt_sync_us=felt_ns.get(FeltPart.SYNC, 0) / 1000,
            felt_copy_us=felt_ns.get(FeltPart.COPY, 0) / 1000,
            felt_queue_us=felt_ns.get(FeltPart.QUEUE, 0) / 1000,
            felt_alloc_us=felt_ns.get(FeltPart.ALLOC, 0) / 1000,
            felt_data_us=felt_ns.get(FeltPart.DATA, 0) / 1000,
            exposed_copy_us=self.exposed_copy_ns / 1000,
            kernels=kernels,
        )


@dataclass(slots=True)
class Doubts:
    """What the records of a window do not account for."""

    launches_without_kernel: int = 0
    """Launches whose kernel was not recorded. (Copies and fills of no bytes leave no record in any case.)"""
    work_without_launch: int = 0
    work_before_launch: int = 0
    """Work that by its times began before it was launched: the GPU's clock is off."""
    malformed_events: int = 0
    unknown_replays: int = 0
    """Replays of CUDA graphs of which nothing tells the launches apart: on the line that replays."""
    unknown_compiled: int = 0
    """Work of compiled graphs that the recorded kernels do not account for: on its region's call line."""
    devices: set[int] = field(default_factory=set)

    def add(self, other: Doubts) -> None:
        self.launches_without_kernel += other.launches_without_kernel
        self.work_without_launch += other.work_without_launch
        self.work_before_launch += other.work_before_launch
        self.malformed_events += other.malformed_events
        self.unknown_compiled += other.unknown_compiled
        self.unknown_replays += other.unknown_replays
        self.devices |= other.devices


@dataclass(slots=True)
class Tally:
    """The cost of some captured steps: by place, key None for what reached no line."""

    wall_ns: int = 0
    steps: int = 0
    kernels: int = 0
    kernel_ns: int = 0
    lines: dict[LineKey | None, LineTally] = field(default_factory=lambda: defaultdict(LineTally))
    doubts: Doubts = field(default_factory=Doubts)
    felt: FeltTally = field(default_factory=FeltTally)
    fused: FusedTally = field(default_factory=FusedTally)
    named: NamedWork = field(default_factory=NamedWork)

    def add(self, other: Tally) -> None:
        self.wall_ns += other.wall_ns
        self.steps += other.steps
        self.kernels += other.kernels
        self.kernel_ns += other.kernel_ns
        self.doubts.add(other.doubts)
        self.felt.add(other.felt)
        self.fused.add(other.fused)
        self.named.add(other.named)
        for key, line in other.lines.items():
            self.lines[key].add(line)

    @property
    def capture_ns(self) -> int:
        return sum(line.capture_ns for line in self.lines.values())

    def to_totals(self, on_gpu: bool) -> Totals:
        lines, lost = self.lines.values(), self.lines.get(None, LineTally())
        return Totals(
            wall_us=self.wall_ns / 1000,
            gpu_busy_us=sum(line.busy_ns for line in lines) / 1000,
            gpu_idle_us=sum(sum(line.idle_ns.values()) for line in lines) / 1000,
            capture_us=self.capture_ns / 1000,
            unattributed_us=(lost.felt_and_caused_ns if on_gpu else lost.cpu_ns) / 1000,
            kernel_us=self.kernel_ns / 1000,
            kernels=self.kernels,
            copies=sum(line.copies for line in lines),
            copy_bytes=sum(line.copy_bytes for line in lines),
            waits=sum(line.waits for line in lines),
            wait_us=sum(line.wait_ns for line in lines) / 1000,
            launches=sum(line.launches for line in lines),
            felt_us=self.felt.total_ns / 1000,
            felt_data_us=self.felt.data_ns / 1000,
            exposed_copy_us=sum(line.exposed_copy_ns for line in lines) / 1000,
            steps=self.steps,
        )

    def to_lines(self, on_gpu: bool) -> list[LineCost]:
        """By falling share; lines that cost nothing are left out."""
        program_ns = self.wall_ns - self.capture_ns
        costs = [
            line.to_cost(*key, program_ns, on_gpu, self.felt.ns_of(key))
            for key, line in self.lines.items()
            if key is not None
        ]
        return sorted(costs, key=lambda cost: (-cost.share, -cost.gpu_us, cost.file, cost.line))
