"""What ran by name in the terminal: layers, groups of kernels and clusters of tiny copies, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from warplint.profile.model import Profile
from warplint.profile.names.groups import JITTERY
from warplint.profile.sections.named_costs import KernelGroup, LayerCost, TinyCopies
from warplint.report.figures import count, counted, milliseconds, share
from warplint.report.frame import VISIBLE
from warplint.source.records import dataclass
from warplint.source.text import LINE_END

if TYPE_CHECKING:
    from rich.console import Console

ROWS = 20
"""How many are listed unless more are asked for."""

GAP, HEADING, REST = 2, "bold", "dim"
LEAST_SHOWN_US = 0.5
"""Of a step: less would print as 0.00 ms or less."""


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column: its cell gets a record and the profile; a column that says nothing is left out.

    ``is_cut``: it gives way where there is no room.
    """

    header: str
    cell: Callable[[Any, Profile], str]
    is_figure: bool = True
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class NamedTable:
    """One of the tables: ``kind`` names its records, ``nothing`` says why there are none."""

    kind: str
    columns: Sequence[NamedColumn]
    nothing: str


def _per_step(number: float, profile: Profile) -> float:
    return number / (profile.totals.steps or 1)


def _ms(us: float, profile: Profile) -> str:
    each = _per_step(us, profile)
    return milliseconds(each) if each >= LEAST_SHOWN_US else ""


def _count(number: float, profile: Profile) -> str:
    return count(_per_step(number, profile)) if number else ""


def _layer_share(layer: LayerCost, profile: Profile) -> str:
    """Of the captured steps, or of the sum of kernels where that is more since they overlap; of the host's
    time, without a GPU."""
    totals = profile.totals
    if not totals.on_gpu:
        return share(layer.cpu_us / totals.wall_us) if totals.wall_us else ""
    us, whole_us = layer.gpu_forward_us + layer.gpu_backward_us, max(totals.wall_us, totals.kernel_us)
    return share(us / whole_us) if us and whole_us else ""


def _place(file: str, line: int) -> str:
    # An imported trace may name no line, but an operator or an annotation.
    return f"{file}:{line}" if line else file


def _us(us: float) -> str:
    return f"{us:.1f}" if us < 99.95 else f"{us:,.0f}"


def _source(copies: TinyCopies, profile: Profile) -> str:
    source = profile.sources.get(copies.file)
    lines = LINE_END.split(source.text) if source is not None else []
    return lines[copies.line - 1].strip() if 0 < copies.line <= len(lines) else ""


LAYERS = NamedTable(
    "layer",
    (
        NamedColumn("time", _layer_share),
        NamedColumn("fwd ms", lambda layer, profile: _ms(layer.gpu_forward_us, profile)),
        NamedColumn("bwd ms", lambda layer, profile: _ms(layer.gpu_backward_us, profile)),
        NamedColumn("CPU ms", lambda layer, profile: _ms(layer.cpu_us, profile)),
        NamedColumn("launches", lambda layer, profile: _count(layer.launches, profile)),
        NamedColumn("calls", lambda layer, profile: _count(layer.calls, profile)),
        NamedColumn("layer", lambda layer, profile: layer.path, is_figure=False, is_cut=True),
        NamedColumn("what it is", lambda layer, profile: layer.description, is_figure=False, is_cut=True),
        NamedColumn("forward", lambda layer, profile: _forward(layer, profile), is_figure=False, is_cut=True),
    ),
    "no layer was called in the captured steps, or module calls could not be followed",
)


def _forward(layer: LayerCost, profile: Profile) -> str:
    """Where it is, in the program's own code: torch's own layers need no address."""
    return _place(layer.file, layer.line) if layer.file in profile.sources else ""


KERNELS = NamedTable(
    "kernel group",
    (
        NamedColumn("GPU ms", lambda group, profile: _ms(group.us, profile)),
        NamedColumn("runs", lambda group, profile: _count(group.count, profile)),
        NamedColumn("mean µs", lambda group, profile: _us(group.mean_us)),
        NamedColumn("p10–p90 µs", lambda group, profile: f"{_us(group.p10_us)}–{_us(group.p90_us)}"),
        NamedColumn("a second", lambda group, profile: f"{group.launches_per_second:,.0f}"),
        NamedColumn("behaviour", lambda group, profile: _behaviour(group), is_figure=False),
        NamedColumn("dtype", lambda group, profile: group.dtype, is_figure=False),
        NamedColumn("kernel", lambda group, profile: group.signature, is_figure=False, is_cut=True),
    ),
    "no kernel ran in the captured steps",
)


def _behaviour(group: KernelGroup) -> str:
    contended = group.contended_us or 0.0
    # Less than a twentieth of its time is scatter.
    beside = " beside other work" if contended > group.us / 20 else ""
    return "" if group.behaviour == "steady" and not beside else f"{group.behaviour}{beside}"


COPIES = NamedTable(
    "cluster of tiny copies",
    (
        NamedColumn("a step", lambda copies, profile: count(copies.count_per_step)),
        NamedColumn("bytes each", lambda copies, profile: count(copies.bytes / copies.count)),
        NamedColumn("GPU ms", lambda copies, profile: _ms(copies.us, profile)),
        NamedColumn("wait ms", lambda copies, profile: _ms(copies.wait_us, profile)),
        NamedColumn("way", lambda copies, profile: copies.direction, is_figure=False),
        NamedColumn("memory", lambda copies, profile: copies.memory, is_figure=False),
        NamedColumn("line", lambda copies, profile: _place(copies.file, copies.line), is_figure=False),
        NamedColumn("source", _source, is_figure=False, is_cut=True),
    ),
    "no line made many copies of few bytes",
)

TABLES = {"layers": LAYERS, "kernel_groups": KERNELS, "tiny_copies": COPIES}
"""By the name of the profile's section."""


LEAST_JITTERY_SHARE = 0.02
"""Of the captured time: less of jittery kernels is not worth a remark."""


def remarks(profile: Profile) -> list[str]:
    """What these tables have that a reader of the lines should know of."""
    said = []
    if profile.tiny_copies:
        lines = {(copies.file, copies.line) for copies in profile.tiny_copies}
        said.append(
            f"{counted(len(lines), 'line makes', 'lines make')} many copies of few bytes: "
            "see warplint show --copies"
        )
    jittery = [group for group in profile.kernel_groups if group.behaviour == JITTERY]
    us = sum(group.us for group in jittery)
    if us >= LEAST_JITTERY_SHARE * profile.totals.wall_us and us:
        said.append(
            f"{counted(len(jittery), 'group of kernels takes', 'groups of kernels take')} changing time "
            "for the same work: see warplint show --kernels"
        )
    return said


def print_named(console: Console, profile: Profile, section: str, rows: int | None) -> None:
    """The first ``rows`` of a section, ROWS of them where None; figures are a step's."""
    from rich.table import Table
    from rich.text import Text

    table, records = TABLES[section], getattr(profile, section)
    if not records:
        console.print(table.nothing)
        return
    shown = records[: ROWS if rows is None else rows]
    cells = [[column.cell(each, profile) for column in table.columns] for each in shown]
    kept = [index for index in range(len(table.columns)) if any(row[index] for row in cells)]
    drawn = Table(box=None, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0), header_style=HEADING)
    for index in kept:
        column = table.columns[index]
        widest = max(len(column.header), *(len(row[index]) for row in cells))
        drawn.add_column(
            column.header,
            justify="right" if column.is_figure else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=None if column.is_cut else widest,
        )
    for row in cells:
        drawn.add_row(*(Text(row[index].translate(VISIBLE)) for index in kept))
    console.print(drawn)
    if len(records) > len(shown):
        more = counted(len(records) - len(shown), f"more {table.kind}")
        console.print(Text(f"… {more}: --top {len(records)} lists all", style=REST))
