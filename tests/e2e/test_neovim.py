"""Debian's Neovim shows a finding, what its line cost in a real run, and applies the fix."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("neovim.lua")
PATIENCE_S = 60

TRAIN = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)

    def forward(self, x):
        scale = torch.arange(x.shape[1]).to(x.device)  # 🧠 on the wrong side
        return self.layer(x * scale)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(200):
    loss = model(torch.rand(256, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FIXED = TRAIN.replace("torch.arange(x.shape[1]).to(x.device)", "torch.arange(x.shape[1], device=x.device)")
LINE = TRAIN.splitlines().index(
    "        scale = torch.arange(x.shape[1]).to(x.device)  # 🧠 on the wrong side"
)


def test_diagnostic_hover_with_a_measured_cost_and_quick_fix(tmp_path: Path) -> None:
    neovim = shutil.which("nvim")
    assert neovim is not None, "this test needs Neovim; on Debian: apt-get install neovim"
    (tmp_path / "pyproject.toml").touch()
    program = tmp_path / "train.py"
    program.write_text(TRAIN, encoding="utf-8")
    warplint = [sys.executable, "-m", "warplint"]
    subprocess.run([*warplint, "run", program.name], cwd=tmp_path, timeout=PATIENCE_S, check=True)

    job = {
        "server": [*warplint, "server"],
        "root": str(tmp_path),
        "file": str(program),
        "action": "Build it on x.device",
        "report": str(tmp_path / "report.json"),
        "patience_ms": PATIENCE_S * 1000,
    }
    done = subprocess.run(
        [neovim, "--clean", "--headless", "-n", "-S", str(SCRIPT)],
        env={**os.environ, "NEOVIM_JOB": json.dumps(job), "XDG_STATE_HOME": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE_S,
        check=False,
    )
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))

    assert (done.returncode, report.get("problem")) == (0, None), report
    assert (report["diagnostic"]["line"], report["diagnostic"]["column"]) == (LINE, 16)
    assert report["diagnostic"]["source"] == "warplint"
    hover = "\n".join(report["hover"])
    assert "share of the captured time" in hover
    assert "WL101" in hover
    assert "\n".join(report["text"]) + "\n" == FIXED
