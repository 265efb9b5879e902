"""What the first document needs, made ready while its editor still reads it."""

from __future__ import annotations

import importlib

from warplint_server.collector import settle


def prepare(draws: bool) -> None:
    """Import the engine, and the score for a client that draws one; rules follow when a file needs them.

    Runs on the engine's thread: ``initialize`` is not kept waiting, and the first document comes after it.
    """
    from warplint.project.catalogue import catalogue

    importlib.import_module("warplint.project.engine")
    catalogue()
    if draws:
        importlib.import_module("warplint.advice.score.file_score")
    settle()
