"""Small programs with known findings. SAFE has one safe fix, UNSAFE one unsafe fix, CLEAN nothing."""

from __future__ import annotations

SAFE = """\
import torch
from torch import nn


class Rotary(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1]).to(x.device)
        return x * steps[None, :, None]
"""
SAFE_FIXED = SAFE.replace(
    "torch.arange(x.shape[1]).to(x.device)", "torch.arange(x.shape[1], device=x.device)"
)

UNSAFE = """\
import torch
from torch import nn


class Noisy(nn.Module):
    def forward(self, x):
        noise = torch.randn(x.shape).to(x.device)
        return x + noise
"""
UNSAFE_FIXED = UNSAFE.replace("torch.randn(x.shape).to(x.device)", "torch.randn(x.shape, device=x.device)")

CLEAN = "import torch\n\nprint(torch.__version__)\n"
