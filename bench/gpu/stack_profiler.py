"""Run a program under torch.profiler with stacks for ten steps, as its own documentation shows.

    python -m warplint_stacks TRACE [truth] program.py ARGS…

With ``truth`` every torch call is also annotated with its line, as truth.py does. The last line of the
program's output stays the last.
"""

from __future__ import annotations

import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.profiler import profile

FIRST, COUNT = 20, 10


class Window:
    """Starts after step ``FIRST``, stops ``COUNT`` steps later."""

    def __init__(self, trace: str) -> None:
        self.trace, self.steps = trace, 0
        self.profile = profile(with_stack=True, record_shapes=False)

    def after_step(self, *ignored: Any) -> None:
        self.steps += 1
        if self.steps == FIRST:
            self.profile.start()
        elif self.steps == FIRST + COUNT:
            torch.cuda.synchronize()
            self.profile.stop()
            self.profile.export_chrome_trace(self.trace)


def main() -> None:
    trace, *rest = sys.argv[1:]
    with_truth = rest[0] == "truth"
    program, *arguments = rest[1:] if with_truth else rest
    path = Path(program).resolve()
    sys.argv = [program, *arguments]
    sys.path[0] = str(path.parent)
    register_optimizer_step_post_hook(Window(trace).after_step)
    lines: Any = nullcontext()
    if with_truth:
        from warplint_truth import LineOfEveryCall

        lines = LineOfEveryCall(path.parent)
    with lines:
        runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()
