"""Functions that call each other deeper than Python's stack are followed to their end."""

from __future__ import annotations

import pytest
from marks import look

DEEP = 600
"""Functions that call each other: many more than Python's stack has room for."""
STEPS = "".join(f"def step{i}(loss):\n    step{i + 1}(loss)\n" for i in range(DEEP))
EPOCHS = "".join(f"def run{i}(x):\n    for _ in x:\n        run{i + 1}(x)\n" for i in range(DEEP))
CHAINS = {
    "a step at the end of many calls": (
        STEPS + f"def step{DEEP}(loss):\n    loss.backward()\n"
        "def go(xs):\n    for x in xs:\n        step0(x)\n        «here()»",
        "in the training loop",
    ),
    "a loop at the end of many loops": (
        EPOCHS + f"def run{DEEP}(x):\n    for _ in x:\n        train(x)\n        «here()»\n"
        "def train(loader):\n    for batch in loader:\n        pass",
        "in the epoch loop",
    ),
}


@pytest.mark.parametrize(("marked", "why"), CHAINS.values(), ids=CHAINS)
def test_functions_that_call_each_other_deeper_than_the_stack(marked: str, why: str) -> None:
    facts, node = look(marked)
    assert facts.why_hot(node) == why
