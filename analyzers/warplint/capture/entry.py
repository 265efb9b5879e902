"""Called by bootstrap/sitecustomize.py when the program has imported torch."""

from __future__ import annotations

from warplint.capture import terminal
from warplint.capture.session import Session
from warplint.capture.settings import Settings


def begin(settings: str) -> None:
    """``settings`` is the text of ``settings.VARIABLE``."""
    try:
        session = Session(Settings.load(settings))
    except OSError as error:
        terminal.say(f"nothing is captured, the program runs on: {error.filename}: {error.strerror}")
        return
    session.begin()
