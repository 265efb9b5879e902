"""The sentences in which an imported profile says what it stands on, and what a trace cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warplint.profile.kineto.code import UserCode
from warplint.profile.kineto.lines import Detail
from warplint.profile.kineto.mend import Mended
from warplint.profile.kineto.reader import line_of
from warplint.profile.kineto.trace import Damage, Trace

_PLACES = {
    Detail.STACKS: "costs stand on lines: the trace has the Python stack of each operator",
    Detail.CALLS: (
        "costs stand on lines: the trace has the line of each call; operators written as signs, as a @ b, "
        "count at the call before them"
    ),
    Detail.FUNCTIONS: (
        "costs stand on the first lines of functions: the stacks of this trace name no other line "
        "(those of torch 2.14 and later do; warplint run always does)"
    ),
    Detail.KERNELS: (
        "the trace has neither operators nor annotations: costs stand on the kernels and copies themselves "
        "(record with ProfilerActivity.CPU too)"
    ),
    Detail.OPERATORS: (
        "the trace has no Python stack of the program's own code: costs stand on operators and annotations "
        "(record with with_stack=True for functions, or use warplint run for lines)"
    ),
}

FILES_NAMED = 3


@dataclass(frozen=True, slots=True)
class RankFile:
    """A trace, and the rank that it says it is of."""

    path: Path
    rank: int | None
    named: int = 1
    """How often it was named."""


def reading(path: Path, trace: Trace) -> list[str]:
    """What was read, and what of it could not be."""
    said = [f"imported from {path.name}{_of_ranks(trace)}; what the profiler cost the program is not known"]
    if trace.cut is not None:
        said.append(
            f"the trace is not whole: {trace.cut.reason}, {where(path, trace.cut)}; "
            f"shown is what the {trace.events:,} events before tell{_unseen(trace)}"
        )
    if trace.first_malformed is not None:
        first = trace.first_malformed
        said.append(f"the first malformed event is {where(path, first)}: {first.reason}")
    if trace.header_damage:
        said.append(trace.header_damage)
    return said


def _unseen(trace: Trace) -> str:
    """Kineto writes what the GPU did last."""
    return "" if len(trace.work) else ", among which is no work of a GPU"


def _of_ranks(trace: Trace) -> str:
    info = trace.header.get("distributedInfo")
    rank, world = (info.get("rank"), info.get("world_size")) if isinstance(info, dict) else (None, None)
    return f", rank {rank} of {world}" if isinstance(rank, int) and isinstance(world, int) else ""


def where(path: Path, damage: Damage) -> str:
    """The event, the line and the byte, of the unpacked text."""
    # A pipe is read once.
    line = f" in line {line_of(path, damage.offset):,}" if path.is_file() else ""
    return f"event {damage.event:,}{line} at byte {damage.offset:,}"


def mended(done: Mended) -> list[str]:
    said = []
    if done.strays:
        said.append(f"{done.strays} records are left out: their times are more than a day from the others'")
    if done.launches:
        said.append(
            f"{done.launches} kernels or copies name no launch: "
            "they count as launched when their operator began"
        )
    return said


def other_files(shown: RankFile, others: Sequence[RankFile]) -> list[str]:
    said = [
        f"{file.path.name} was named {file.named} times and is taken once"
        for file in (shown, *others)
        if file.named > 1
    ]
    if others:
        names = ", ".join(map(_named, others))
        said.append(f"costs are those of {_named(shown)}; also named and not shown: {names}")
    return said


def _named(file: RankFile) -> str:
    return file.path.name if file.rank is None else f"{file.path.name} (rank {file.rank})"


def places(detail: Detail, code: UserCode, cut: bool) -> list[str]:
    """``cut``: the trace is not whole, so that what it lacks may have been recorded."""
    said = [f"as far as it goes, {_PLACES[detail]}" if cut else _PLACES[detail]]
    if code.process.sources:
        said.append("sources are the project's of today: a trace does not say what text ran")
    if code.edited:
        names = ", ".join(code.edited[:FILES_NAMED]) + (", …" if len(code.edited) > FILES_NAMED else "")
        said.append(f"not the text that ran, and so not shown: {names}")
    return said
