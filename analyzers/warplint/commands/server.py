"""``warplint server``: the language server, on standard input and output."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

NEEDS = "pygls"


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "server",
        help="run the language server for an editor",
        description="Speak the language server protocol on standard input and output. Editors start this.",
    )
    # Many clients add it to the command line of every server.
    parser.add_argument("--stdio", action="store_true", help="accepted for clients that pass it")


def run(args: argparse.Namespace) -> int:
    """0 when the client took its leave, 1 when it went without, 2 when the server cannot run."""
    if importlib.util.find_spec(NEEDS) is None:
        print(
            f"warplint: the language server needs {NEEDS}, which {sys.executable} does not have; "
            f"install it with: {sys.executable} -m pip install '{NEEDS}>=2,<3'",
            file=sys.stderr,
        )
        return 2
    from warplint_server.main import serve

    return serve()
