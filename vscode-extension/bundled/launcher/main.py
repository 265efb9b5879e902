"""Reads the command line, and probes or runs."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Sequence

from launcher import probe
from launcher.output import kept_clean
from launcher.search_path import Strategy, enter

PROBE, SERVER = "probe", "server"


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status. A probe's is 0 whatever it finds: what is wrong is in its answer."""
    parser = argparse.ArgumentParser(prog="launch.py", allow_abbrev=False)
    parser.add_argument("--import-strategy", type=Strategy, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER, help=f"{PROBE}, or a verb of Warplint's")
    asked = parser.parse_args(arguments)
    strategy: Strategy = asked.import_strategy
    command: list[str] = asked.command
    if command[:1] == [PROBE]:
        with kept_clean():
            report = probe.probe(strategy)
        print(json.dumps(report))
        return 0
    with kept_clean():
        enter(strategy)
        if command[:1] == [SERVER]:
            for module in probe.STARTS_WITH:
                importlib.import_module(module)
    from warplint.__main__ import main as run

    return run(command)
