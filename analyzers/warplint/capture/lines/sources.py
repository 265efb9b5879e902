"""The text of the user's files as the program ran them."""

from __future__ import annotations

import hashlib
import io
import os
import tokenize
from pathlib import Path

from warplint.capture.lines.user_code import UserCode
from warplint.capture.recorder import WARNING, Recorder


class Sources:
    """Writes each source file once and numbers it. ``started``: the program's start in Unix seconds."""

    def __init__(self, recorder: Recorder, user_code: UserCode, started: float) -> None:
        self._recorder = recorder
        self._user_code = user_code
        self._started = started
        self._numbers: dict[Path, int] = {}

    def number(self, filename: str) -> int:
        """The number of a source file; its text is written the first time it is asked for."""
        path = self._user_code.absolute(filename)
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self._numbers) + 1
            self._write(number, path)
        return number

    def _write(self, number: int, path: Path) -> None:
        text = ""
        try:
            with path.open("rb") as stream:
                modified = os.fstat(stream.fileno()).st_mtime
                text = decode(stream.read())
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            self._recorder.note(WARNING, "source-unreadable", f"the text of {path} is not stored: {error}")
        else:
            if modified > self._started:
                self._recorder.note(
                    WARNING,
                    "source-edited",
                    f"{path} was changed after the program started: its costs may stand on wrong lines",
                )
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._recorder.source(number, str(path), digest, text)


def decode(data: bytes) -> str:
    """Source text as PEP 263 reads it, line endings kept. Raises SyntaxError or UnicodeDecodeError."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)
