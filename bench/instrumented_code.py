"""Whether code that once had line events stays slower, and what undoes it. Python 3.12 and later.

    python bench/instrumented_code.py [--python PATH]...

CPU time of a loop of plain Python against that of a twin that never had events: the least of several passes,
alternating. Without torch and without Warplint: what is measured is Python's own.
Written to bench/results/instrumented_code.txt.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "instrumented_code.txt"

PROGRAM = """
import json, platform, sys, time
from types import FunctionType
monitoring, TOOL = sys.monitoring, 3

def busy(count):
    total = 0
    for index in range(count):
        total += index
        total -= 1
    return total

twin = FunctionType(busy.__code__.replace(), globals())

def times(passes=15):
    spent = {busy: [], twin: []}
    for number in range(passes + 1):
        for function, seconds in spent.items():
            began = time.process_time()
            function(300_000)
            seconds.append(time.process_time() - began)
    return min(spent[busy][1:]) / min(spent[twin][1:])

code, found = busy.__code__, {"before": times()}
monitoring.use_tool_id(TOOL, "measured")
monitoring.register_callback(TOOL, monitoring.events.LINE, lambda code, line: None)
monitoring.set_local_events(TOOL, code, monitoring.events.LINE)
found["with line events"] = times(3)
monitoring.set_local_events(TOOL, code, 0)
found["events off"] = times()
monitoring.register_callback(TOOL, monitoring.events.LINE, None)
monitoring.free_tool_id(TOOL)
found["tool id freed"] = times()
monitoring.restart_events()
found["after restart_events()"] = times()
busy.__code__ = code.replace()
found["a new code object"] = times()
busy.__code__ = code
found["the old one again"] = times()
json.dump([platform.python_version(), found], sys.stdout)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", help="measure this Python (repeatable)")
    lines = ["a loop of plain Python, CPU time against a twin that never had line events"]
    for python in parser.parse_args().python or [sys.executable]:
        done = subprocess.run([python, "-c", PROGRAM], capture_output=True, text=True, check=True)
        version, found = json.loads(done.stdout)
        lines.append(f"Python {version}")
        lines += [f"  {what}: {times:.2f} times" for what, times in found.items()]
    text = "\n".join(lines)
    print(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
