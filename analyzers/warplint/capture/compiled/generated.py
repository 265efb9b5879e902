"""Reads Inductor's generated code: what it launches, and what kernels without provenance are made of.

Kernels that reduce along both dimensions at once (torch 2.10 to 2.14) get no provenance. What they are made
of stands, as for every Triton kernel, in a comment above their definition: the nodes of the graph, whose
listing names file and line. That comment is of the first launch: only kernels launched once are read.
"""

from __future__ import annotations

import re
from collections import Counter

_LAUNCH = re.compile(
    r"\[Provenance debug handles\] (?P<handle>\S+:\d+)"
    r"|^ +(?P<kernel>triton_\w+)\.run\("
    r"|^ +\w+ = workspace_\w+\[.*\]\.view\(.*?\)\.(?P<last>\w+)\(dim=0\)",
    re.MULTILINE,
)
_DEFINITION = re.compile(r"^(?P<comment>(?: *#.*\n)+) *(?P<kernel>triton_\w+) = async_compile", re.MULTILINE)
_NODE = re.compile(r"^ *# +%(\w+) : .*call_function\[", re.MULTILINE)
_FILE = re.compile(r"^ *# File: (?P<file>.+?):(?P<line>\d+) in (?P<function>.+?), code: ")
_ASSIGNMENT = re.compile(r"^ *(\w+)(?::| =)")

OPERATOR = "aten."
"""Before the name of an operator that the generated code calls to finish a kernel's work."""

Stacks = list[str]
"""Formatted as tracebacks are."""


def launches(code: str) -> list[tuple[str, str | None]]:
    """Name and ``kernel:number`` of each launch, in order; no number for one without provenance.

    What such a kernel leaves in its workspace is added up by operators, which follow it.
    """
    found: list[tuple[str, str | None]] = []
    announced = ""
    for match in _LAUNCH.finditer(code):
        handle, kernel, last = match["handle"], match["kernel"], match["last"]
        if handle is not None:
            announced = handle.rpartition(":")[0]
            found.append((announced, handle))
        elif last is not None:
            found.append((OPERATOR + last, None))
        elif kernel != announced:
            found.append((kernel, None))
        else:
            announced = ""
    return found


def stacks_of_definitions(code: str, listing: str) -> dict[str, Stacks]:
    """By kernel that is launched once, what the nodes in its comment come from. ``listing``: the graph's."""
    times = Counter(name for name, _ in launches(code))
    places = _places(listing)
    return {
        match["kernel"]: [places[node] for node in _NODE.findall(match["comment"]) if node in places]
        for match in _DEFINITION.finditer(code)
        if times[match["kernel"]] == 1
    }


def _places(listing: str) -> dict[str, str]:
    """Each node's place, as one frame of a traceback."""
    found, place = {}, ""
    for line in listing.splitlines():
        file, assignment = _FILE.match(line), _ASSIGNMENT.match(line)
        if file is not None:
            place = f'  File "{file["file"]}", line {file["line"]}, in {file["function"]}\n'
        elif not line.strip():
            place = ""
        elif assignment is not None and place:
            found[assignment[1]] = place
    return found
