"""A number for the text of the user's modules that are loaded."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

from warplint.capture.lines.user_code import UserCode


class LoadedTexts:
    """Reads each file once: what is edited while the program runs is not what runs."""

    def __init__(self, user_code: UserCode) -> None:
        self._user_code = user_code
        self._seen: set[str] = set()
        self._digests: dict[str, int] = {}

    def digest(self) -> int:
        """The same in every run that has loaded the same files with the same text."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file not in self._seen:
                self._seen.add(file)
                self._read(file)
        return zlib.crc32(repr(sorted(self._digests.items())).encode())

    def _read(self, file: str) -> None:
        path: Path = self._user_code.absolute(file)
        if not self._user_code.holds_file(file):
            return
        try:
            self._digests[str(path)] = zlib.crc32(path.read_bytes())
        except OSError:
            self._digests[str(path)] = 0
