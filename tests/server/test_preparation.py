"""The first document finds the engine imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OPEN_ONE = """
import sys
from pathlib import Path
import warplint_server.main
from warplint_server.preparation import prepare

prepare(draws=True)
known = set(sys.modules)

from warplint.advice.score.file_score import score
from warplint.project.engine import Engine
from warplint.source.text import SourceText

path = Path("net.py").absolute()
found = Engine.for_path(path).check(SourceText("import torch\\n\\nx = torch.zeros(3).sum()\\n", path))
score(found)
print(sorted(name for name in set(sys.modules) - known if name.startswith("warplint.")))
"""


def test_a_document_imports_nothing_of_the_engine(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPEN_ONE], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "[]\n"
