"""Running the real command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# Root reads what it likes; without these capabilities it is held to a file's mode like anyone else.
CAPABILITIES = "-dac_override,-dac_read_search"
WITHOUT_PRIVILEGE = ["setpriv", f"--bounding-set={CAPABILITIES}", f"--inh-caps={CAPABILITIES}", "--"]

Completed = subprocess.CompletedProcess[str]


class CommandLine:
    """Runs ``warplint`` in a folder, as a user would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        privileged: bool = True,
        stdin: str | None = None,
    ) -> Completed:
        prefix = [] if privileged or os.geteuid() != 0 else WITHOUT_PRIVILEGE
        return subprocess.run(
            [*prefix, sys.executable, "-m", "warplint", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONSAFEPATH": "1", **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=120,
            check=False,
        )

    def write(self, name: str, content: str | bytes) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file
