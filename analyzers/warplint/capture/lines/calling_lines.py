"""Lines of a function that call something: no other can have a cost on a GPU, however long it took."""

from __future__ import annotations

import dis
import re
from types import CodeType

INERT = re.compile(
    r"CACHE|COPY(_FREE_VARS)?|EXTENDED_ARG|JUMP_(ABSOLUTE|FORWARD|BACKWARD\w*)"
    r"|LOAD_(CLOSURE|CONST|DEREF|FAST\w*|GLOBAL|SMALL_INT)|MAKE_CELL|NOP|NOT_TAKEN|POP_TOP|PUSH_NULL"
    r"|RESUME|RETURN_(CONST|GENERATOR|VALUE)|ROT_\w+|STORE_(DEREF|FAST\w*)|SWAP"
)
"""Instructions that move names and constants about. One that only asks for an object's truth may already
wait for the GPU."""


def lines_with_calls(code: CodeType) -> set[int]:
    """The lines of ``code`` with an instruction that may run something else."""
    found: set[int] = set()
    spans = ((start, end, line) for start, end, line in code.co_lines() if line is not None)
    lines = {offset: line for start, end, line in spans for offset in range(start, end, 2)}
    for instruction in dis.get_instructions(code):
        if not INERT.fullmatch(instruction.opname) and instruction.offset in lines:
            found.add(lines[instruction.offset])
    return found
