"""Small programs with findings whose places are known."""

from __future__ import annotations

from lsp_editor import span

ROTARY = """\
import torch
from torch import nn


class Rotary(nn.Module):
    def forward(self, x):
        steps = torch.arange(x.shape[1]).to(x.device)
        return x * steps[None, :, None]
"""
ROTARY_LINE = 6
ROTARY_RANGE = span(ROTARY_LINE, 16, 53)
ROTARY_FIXED = ROTARY.replace(
    "torch.arange(x.shape[1]).to(x.device)", "torch.arange(x.shape[1], device=x.device)"
)

NOISY = """\


class Noisy(nn.Module):
    def forward(self, x):
        noise = torch.randn(x.shape).to(x.device)
        return x + noise
"""
NOISY_FIXED = NOISY.replace("torch.randn(x.shape).to(x.device)", "torch.randn(x.shape, device=x.device)")

ROTARY_AND_NOISY = ROTARY + NOISY
NOISY_LINE = ROTARY_AND_NOISY.splitlines().index("        noise = torch.randn(x.shape).to(x.device)")
