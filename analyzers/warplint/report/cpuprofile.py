"""A capture's costs as V8's ``.cpuprofile``, whose viewer in VS Code puts its lenses on the lines of the
source.

The viewer takes a lens's line and time from nodes, so each line is a node of its own under its function's;
Chrome's tools read ``positionTicks``. Samples are sums, not moments: one a line, as long as the line cost.
Format: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from warplint.profile.model import CapturedSource, LineCost, Profile
from warplint.source.functions import functions_of_broken, functions_of_tree, innermost
from warplint.source.records import dataclass, field
from warplint.source.statements import parsed

MODULE = "<module>"
NO_LINE = "(on no line)"


@dataclass(slots=True)
class _Node:
    """A call frame: ``line`` from 0, as V8 counts."""

    name: str
    url: str
    script: int
    line: int
    ticks_us: float = 0.0
    children: list[_Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Script:
    """A file: as ``LineCost.file`` names it, its number, address and text."""

    file: str
    number: int
    url: str
    source: CapturedSource | None


def render(profile: Profile, root: Path) -> Iterator[str]:
    """The document. Files of the profile lie under ``root``."""
    top = _Node("(root)", "", 0, -1)
    order: list[_Node] = []
    by_file: dict[str, list[LineCost]] = {}
    for cost in profile.lines:
        by_file.setdefault(cost.file, []).append(cost)
    for script, (file, costs) in enumerate(by_file.items(), 1):
        script_of = _Script(file, script, _url(root, file), profile.sources.get(file))
        _add_file(top, order, script_of, _timed(costs, profile))
    if profile.totals.unattributed_us > 0:
        nowhere = _Node(NO_LINE, "", 0, -1, profile.totals.unattributed_us)
        top.children.append(nowhere)
        order.append(nowhere)
    yield json.dumps(_document(top, order), separators=(",", ":")) + "\n"


def _timed(costs: list[LineCost], profile: Profile) -> list[tuple[int, float]]:
    """Lines with what they took of the captured time: the GPU's, busy and idle, or the host's without one."""
    on_gpu = profile.totals.on_gpu
    timed = [(cost.line, cost.busy_us + cost.total_idle_us if on_gpu else cost.cpu_us) for cost in costs]
    return [(line, us) for line, us in timed if us > 0]


def _url(root: Path, file: str) -> str:
    path = (root / file).as_posix()
    absolute = path if root.drive == "" else f"/{path}"
    return "file://" + quote(absolute.encode("utf-8", "surrogateescape"))


def _add_file(
    top: _Node,
    order: list[_Node],
    script: _Script,
    timed: list[tuple[int, float]],
) -> None:
    text = script.source.text if script.source is not None else ""
    tree = parsed(text)
    owners = innermost(list(functions_of_tree(tree) if tree is not None else functions_of_broken(text)))
    functions: dict[tuple[str, int], _Node] = {}
    for line, us in timed:
        if not line:
            # An imported trace without lines has operators in the place of files.
            order.append(_Node(script.file, "", script.number, -1, us))
            top.children.append(order[-1])
            continue
        owner = owners.get(line)
        name, first = (owner.name, owner.line) if owner is not None else (MODULE, 1)
        node = functions.get((name, first))
        if node is None:
            node = functions[name, first] = _Node(name, script.url, script.number, first - 1)
            top.children.append(node)
        if line == first:
            node.ticks_us += us
            order.append(node)
        else:
            leaf = _Node(f"{name}:{line}", script.url, script.number, line - 1, us)
            node.children.append(leaf)
            order.append(leaf)


def _document(top: _Node, order: list[_Node]) -> dict[str, object]:
    numbers: dict[int, int] = {}
    nodes = []
    waiting = [top]
    while waiting:
        node = waiting.pop()
        numbers[id(node)] = len(numbers) + 1
        nodes.append(node)
        waiting.extend(reversed(node.children))
    lengths = [max(1, round(node.ticks_us)) for node in order]
    return {
        "nodes": [_plain(node, numbers) for node in nodes],
        "startTime": 0,
        "endTime": sum(lengths),
        "samples": [numbers[id(node)] for node in order],
        # A delta is the time before its sample: what the last one took follows from the end.
        "timeDeltas": [0, *lengths[:-1]][: len(order)],
    }


def _plain(node: _Node, numbers: dict[int, int]) -> dict[str, object]:
    plain: dict[str, object] = {
        "id": numbers[id(node)],
        "callFrame": {
            "functionName": node.name,
            "scriptId": str(node.script),
            "url": node.url,
            "lineNumber": node.line,
            "columnNumber": 0 if node.line >= 0 else -1,
        },
        "hitCount": 1 if node.ticks_us else 0,
        "children": [numbers[id(child)] for child in node.children],
    }
    if node.ticks_us and node.line >= 0:
        plain["positionTicks"] = [{"line": node.line + 1, "ticks": 1}]
    return plain
