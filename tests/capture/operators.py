"""Which line of its program each operator of a real trace is charged to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warplint.profile.attribution.charge import Charger
from warplint.profile.attribution.recompute import Recomputation
from warplint.profile.attribution.window_trace import read_window_trace
from warplint.profile.raw.process import RawProcess, RawWindow, read_process
from warplint.profile.timeline import Places, Timeline

MARK = re.compile(r"# -> (.+)$")


@dataclass(frozen=True, slots=True)
class Placed:
    """An operator by its name without ``aten::``, and the file's name and line it is charged to.

    ``again`` says that a checkpoint computed it again.
    """

    name: str
    file: str
    line: int
    again: bool


def placed_operators(folder: Path) -> list[Placed]:
    """The operators of every finished window in the one process of a capture folder."""
    (path,) = folder.glob("*.wlraw")
    process = read_process(path)
    return [each for window in process.windows for each in _of_window(folder, process, window)]


def _of_window(folder: Path, process: RawProcess, window: RawWindow) -> Iterator[Placed]:
    close = window.close
    assert close is not None and close.trace is not None and close.main_thread is not None
    places = Places(process)
    trace, _ = read_window_trace(folder, close.trace, close)
    timeline = Timeline(window, places)
    charger = Charger(trace, timeline, close.main_thread)
    recomputation = Recomputation(trace, charger)
    operators = trace.operators
    for each in range(len(operators)):
        name = trace.text(operators.name[each])
        if name.startswith("aten::"):
            place = places.all[charger.place(operators.thread[each], operators.start[each])]
            source = process.sources.get(place.source)
            file = "" if source is None else Path(source.path).name
            again = recomputation.holds(operators.thread[each], operators.start[each])
            yield Placed(name.removeprefix("aten::"), file, place.line, again)


def marked(text: str) -> dict[str, set[int]]:
    """``# -> sinc, erf`` at the end of a line: it, and no other, calls these operators."""
    found = defaultdict(set)
    for number, line in enumerate(text.splitlines(), start=1):
        mark = MARK.search(line)
        for name in mark[1].split(", ") if mark else ():
            found[name].add(number)
    return dict(found)


def assert_marked_operators_are_on_their_lines(folder: Path, text: str, file: str = "train.py") -> None:
    """Every operator that the text marks was called in a window, and charged to its line each time."""
    expected = marked(text)
    found: dict[str, set[tuple[str, int]]] = {name: set() for name in expected}
    for each in placed_operators(folder):
        if each.name in expected:
            found[each.name].add((each.file, each.line))
    assert found == {name: {(file, line) for line in lines} for name, lines in expected.items()}
