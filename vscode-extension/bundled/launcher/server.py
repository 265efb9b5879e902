"""The modules of the server: what breaks must break as they are imported, in a probe too."""

from __future__ import annotations

import importlib

STARTS_WITH = ("warplint.__main__", "warplint.commands.server", "warplint_server.main")
"""What the server imports before it answers."""


def import_server() -> None:
    for module in STARTS_WITH:
        importlib.import_module(module)
