"""Makes extension files, as `npm run package` does once the extension is built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from places import EXTENSION

UNIVERSAL = "universal"
VERSION = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))["version"]


def make(target: str, into: Path) -> Path:
    """Make one extension file."""
    command = ["node", "scripts/package.mjs", "--target", target, "--into", str(into)]
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(
        command, cwd=EXTENSION, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, f"is the extension built (npm run build)?\n{done.stdout}{done.stderr}"
    assert "WARN" not in done.stdout + done.stderr
    (file,) = into.glob("*.vsix")
    return file
