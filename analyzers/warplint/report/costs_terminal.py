"""A capture's costs in the terminal: the source with figures beside its lines, or the hottest lines alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from warplint.profile.model import CapturedSource, LineCost, Profile
from warplint.report.compilation import compilation
from warplint.report.costs_columns import GAP, Column, columns_for, width
from warplint.report.costs_folding import stretches
from warplint.report.costs_summary import summary
from warplint.report.feed_sentence import feed_sentence
from warplint.report.figures import counted, share
from warplint.report.frame import VISIBLE
from warplint.report.step_history import step_history
from warplint.report.style import Style
from warplint.source.records import dataclass, field
from warplint.source.text import LINE_END

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

HEAT = ((0.10, "bold red"), (0.03, "yellow"), (0.0, ""))
"""The style of a line's figures by its share of the time: the first whose bound it reaches."""

FOLDED, FINDING, NOTE, HEADING, GUTTER = "dim", "magenta", "dim", "bold", "bright_black"
THEME = "ansi_dark"
"""Pygments' theme of the terminal's own sixteen colours."""

SOURCE_ROOM = 48
"""The least width left for the source: columns of figures give way to it."""

PIPED_WIDTH = 120
"""Where output goes to a file that has no width."""

LEAST_FILE_SHARE = 0.01
"""Files with a smaller part of the time are named, not listed."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A static finding at a line of a captured source."""

    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What to print. ``files`` are those asked for, by ``LineCost.file``; none asks for the hottest.

    ``top`` lists that many of the hottest lines in place of the sources. ``remarks`` follow the notes.
    """

    profile: Profile
    files: Sequence[str] = ()
    top: int | None = None
    markers: Mapping[str, Sequence[Marker]] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    @property
    def costs(self) -> list[LineCost]:
        """Those asked for, hottest first."""
        return [cost for cost in self.profile.lines if not self.files or cost.file in self.files][: self.top]


def console_for(stream: TextIO) -> Console:
    """A console as wide as the terminal (COLUMNS overrides it), with styles where the stream shows them."""
    from rich.console import Console

    style = Style.of(stream)
    return Console(
        file=stream,
        color_system="auto" if style.color else None,
        width=None if stream.isatty() else _columns_variable() or PIPED_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def print_costs(console: Console, listing: Listing) -> None:
    from rich.text import Text

    console.print(Text(summary(listing.profile), style=HEADING))
    feeding = feed_sentence(listing.profile)
    if feeding is not None:
        console.print(Text(feeding.translate(VISIBLE), style=HEADING))
    changed = step_history(listing.profile.change_points)
    if changed is not None:
        console.print(changed)
    for sentence in compilation(listing.profile):
        console.print(Text(sentence.translate(VISIBLE)))
    if listing.costs:
        _print_lines(console, listing)
    for note in (*listing.profile.notes, *listing.remarks):
        console.print(Text(f"note: {note.translate(VISIBLE)}", style=NOTE))


def hottest_files(profile: Profile) -> list[tuple[str, float]]:
    """Every file that cost something, with its share of the time, hottest first."""
    shares: dict[str, float] = {}
    for cost in profile.lines:
        shares[cost.file] = shares.get(cost.file, 0.0) + cost.share
    return sorted(shares.items(), key=lambda item: (-item[1], item[0]))


def _print_lines(console: Console, listing: Listing) -> None:
    if listing.top is not None:
        _print_top(console, listing, listing.costs)
    else:
        _print_files(console, listing)


def _print_files(console: Console, listing: Listing) -> None:
    shares = dict(hottest_files(listing.profile))
    named = [cost for cost in listing.costs if not cost.line]
    if named:
        _print_top(console, listing, named)
    for cost in named:
        del shares[cost.file]
    asked = [file for file in shares if file in listing.files] if listing.files else list(shares)
    listed = [file for file in asked if listing.files or shares[file] >= LEAST_FILE_SHARE] or asked[:1]
    for file in listed:
        console.print()
        _print_file(console, listing, file, shares[file])
    others = [file for file in asked if file not in listed]
    if others:
        rest = sum(shares[file] for file in others)
        console.print()
        names = ", ".join(others).translate(VISIBLE)
        console.print(f"{counted(len(others), 'more file')} with {share(rest)} of the time: {names}")


def _print_file(console: Console, listing: Listing, file: str, file_share: float) -> None:
    from rich.text import Text

    profile = listing.profile
    costs = {cost.line: cost for cost in profile.lines if cost.file == file}
    per = " a step" if profile.totals.steps else ""
    heading = Text.assemble(
        (file.translate(VISIBLE), HEADING), f"  {share(file_share)} of the time; figures{per}"
    )
    console.print(heading)
    source = profile.sources.get(file)
    if source is None:
        _print_table(console, profile, list(costs.values()), _without_source(costs))
        return
    rows = _source_rows(source, costs, listing.markers.get(file, ()))
    _print_table(console, profile, list(costs.values()), rows)


def _print_top(console: Console, listing: Listing, costs: Sequence[LineCost]) -> None:
    profile = listing.profile
    console.print()
    _print_table(console, profile, costs, (_top_row(profile, cost, listing) for cost in costs))


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a table: where it is, its cost if any, the code of a rule's finding, and its text."""

    place: str
    cost: LineCost | None
    code: str
    text: RenderableType


def _print_table(console: Console, profile: Profile, costs: Sequence[LineCost], rows: Iterator[_Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    steps = profile.totals.steps or 1
    made = list(rows)
    place_width = max((len(row.place) for row in made), default=0)
    code_width = max((len(row.code) for row in made), default=0)
    room = console.width - place_width - code_width - 2 * GAP - SOURCE_ROOM
    columns = columns_for(costs, steps, profile.totals.on_gpu, room)
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0), header_style=HEADING)
    for column in columns:
        table.add_column(
            column.header,
            justify="right" if column.is_figure else "left",
            no_wrap=True,
            min_width=width(column, costs, steps),
        )
    table.add_column("line", justify="right", no_wrap=True, style=GUTTER, min_width=place_width)
    if code_width:
        table.add_column("", no_wrap=True, style=FINDING, min_width=code_width)
    table.add_column("source", ratio=1)
    for row in made:
        cells: list[RenderableType] = [
            Text(cell, style=_heat(row.cost)) for cell in _cells(row, columns, steps)
        ]
        table.add_row(*cells, row.place, *([row.code] if code_width else []), row.text)
    console.print(table)


def _cells(row: _Row, columns: Sequence[Column], steps: int) -> list[str]:
    return ["" if row.cost is None else column.cell(row.cost, steps) for column in columns]


def _heat(cost: LineCost | None) -> str:
    part = 0.0 if cost is None else cost.share
    return next(style for bound, style in HEAT if part >= bound)


def _source_rows(
    source: CapturedSource, costs: Mapping[int, LineCost], markers: Sequence[Marker]
) -> Iterator[_Row]:
    from rich.text import Text

    lines = _highlighted(source.text)
    if len(lines) > 1 and not lines[-1].plain:
        lines.pop()
    found: dict[int, list[Marker]] = {}
    for marker in markers:
        found.setdefault(marker.line, []).append(marker)
    said: set[str] = set()
    for stretch in stretches(source.text, len(lines), {*costs, *found}):
        if not stretch.shown:
            yield _Row("", None, "", Text(f"… {counted(len(stretch.lines), 'line')}", style=FOLDED))
            continue
        for number in stretch.lines:
            text = lines[number - 1]
            if not text.plain.strip() and number > 1 and not lines[number - 2].plain.strip():
                continue
            here = found.get(number, [])
            yield _Row(str(number), costs.get(number), here[0].code if here else "", text)
            yield from _message_rows(here, said, text.plain)
            said.update(marker.message for marker in here)


def _message_rows(markers: Sequence[Marker], said: set[str], line: str) -> Iterator[_Row]:
    """What the rules say, below the line and indented as it is; not again what was said above."""
    from rich.padding import Padding
    from rich.text import Text

    indent = len(line) - len(line.lstrip())
    for position, marker in enumerate(markers):
        if marker.message in said:
            continue
        message = Text(f"└ {marker.message.translate(VISIBLE)}", style=FINDING)
        yield _Row("", None, marker.code if position else "", Padding(message, (0, 0, 0, indent)))


def _without_source(costs: Mapping[int, LineCost]) -> Iterator[_Row]:
    from rich.text import Text

    missing = Text("(its text was not captured)", style=FOLDED)
    for number in sorted(costs):
        yield _Row(str(number), costs[number], "", missing)


def _top_row(profile: Profile, cost: LineCost, listing: Listing) -> _Row:
    from rich.text import Text

    source = profile.sources.get(cost.file)
    lines = LINE_END.split(source.text) if source else []
    text = lines[cost.line - 1].strip().translate(VISIBLE) if 0 < cost.line <= len(lines) else ""
    codes = [marker.code for marker in listing.markers.get(cost.file, ()) if marker.line == cost.line]
    place = cost.place.translate(VISIBLE)
    # A place without a text stands where the text would: it may be long, and figures have more to say.
    place, text = (place, text) if text else ("", place)
    return _Row(place, cost, codes[0] if codes else "", _uncut(Text(text)))


def _highlighted(text: str) -> list[Text]:
    """The lines of a source in colour, with what a terminal would obey made visible."""
    from rich.syntax import Syntax

    plain = [line.translate(VISIBLE) for line in LINE_END.split(text)]
    syntax = Syntax("", "python", theme=THEME, background_color="default")
    highlighted = syntax.highlight("\n".join(plain))
    highlighted.rstrip()
    lines = list(highlighted.split("\n", allow_blank=True))
    lines.extend(type(highlighted)() for _ in range(len(plain) - len(lines)))
    return [_uncut(line) for line in lines[: len(plain)]]


def _uncut(line: Text) -> Text:
    """Source is never wrapped: what does not fit is cut at the margin."""
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _columns_variable() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else None
