"""Reads the command line, and probes or runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from launcher.output import kept_clean
from launcher.search_path import Strategy, enter
from launcher.server import import_server

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
        # Reading versions takes longer than all else here, and a server has no use for it.
        from launcher.probe import probe

        with kept_clean():
            report = probe(strategy)
        print(json.dumps(report))
        return 0
    with kept_clean():
        enter(strategy)
        if command[:1] == [SERVER]:
            import_server()
    from warplint.__main__ import main as run

    return run(command)
