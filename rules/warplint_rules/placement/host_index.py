from __future__ import annotations

from warplint.static.rules.rule import At, Example, Metric, Risk, Signature, TorchVersion
from warplint_rules.placement._host_made import HostMade
from warplint_rules.placement._journey import Effect


class HostIndex(HostMade):
    """Indices are built on the CPU in code that runs every step, and select from a tensor on the GPU.

    ## Why is this slow?

    PyTorch copies CPU indices to the GPU before it selects with them. The copy comes from pageable memory,
    so the host waits for all work queued on the GPU, each time, and nothing in the code shows it: measured
    on an H200 with torch 2.11, `x[order]` with CPU integers blocks behind a busy GPU, and with `order` on
    the GPU it does not. Writing through such indices (`x[rows] = …`) copies them as well.

    ## When it stays silent

    - for a boolean mask on the CPU, which selects without a wait since torch 2.9; before, only where a number
      is written through it, which waits for nothing if the mask is on the GPU;
    - for a single CPU number, which PyTorch reads where it is;
    - when the indices come from Python data or from a solver on the CPU, which has to be copied anyway;
    - when Python reads the indices too: on the GPU, that would wait each time;
    - in a program that trains a model of its own and names no device at all;
    - in `__init__`, set-up, loading and data code, and where the indexed tensor may be on the CPU.

    ## Fix safety

    The fix adds `device=` to the factory. It is safe for ranges, whose values are the same on every device,
    and unsafe for random indices (`torch.randperm`), since the GPU has another generator, and where the
    device has to be taken from another tensor of the function.

    ## Sources

    - CUDA semantics, "Use pinned memory buffers": what copies from pageable memory wait for
    - pytorch/pytorch#156384: CPU masks without a wait
    - measured on an H200, torch 2.11: `bench/results/h200/blocking_calls.txt`
    """

    code = "WL102"
    name = "host-index"
    effects = frozenset({Effect.INDEXES})
    proof = Signature(At.USES, Metric.PAGEABLE_COPY)
    risk = Risk.HIGH

    fires = (
        Example(
            "CPU indices into a tensor on the GPU are copied each time.",
            """\
import torch
from torch import nn


class Shuffle(nn.Module):
    def forward(self, x):
        order = «torch.randperm(x.shape[0])»
        return x[order]
""",
            """\
import torch
from torch import nn


class Shuffle(nn.Module):
    def forward(self, x):
        order = torch.randperm(x.shape[0], device=x.device)
        return x[order]
""",
        ),
        Example(
            "Rows picked with a range: the range is the same on the GPU.",
            """\
import torch
from torch import nn


class Picked(nn.Module):
    def forward(self, scores):
        best = scores.argmax(1)
        return scores[«torch.arange(scores.shape[0])», best]
""",
            """\
import torch
from torch import nn


class Picked(nn.Module):
    def forward(self, scores):
        best = scores.argmax(1)
        return scores[torch.arange(scores.shape[0], device=scores.device), best]
""",
        ),
        Example(
            "A range reshaped before it selects.",
            """\
import torch
from torch import nn


class Gathered(nn.Module):
    def forward(self, features, columns):
        rows = «torch.arange(features.shape[0])»[:, None].repeat(1, 4)
        return features[rows, columns]
""",
            """\
import torch
from torch import nn


class Gathered(nn.Module):
    def forward(self, features, columns):
        rows = torch.arange(features.shape[0], device=features.device)[:, None].repeat(1, 4)
        return features[rows, columns]
""",
        ),
        Example(
            "Before torch 2.9 a mask on the CPU is copied, and one on the GPU takes a number without a wait.",
            """\
import torch
from torch import nn


class Hide(nn.Module):
    def forward(self, x):
        hidden = «torch.ones(x.shape[0], dtype=torch.bool)»
        x[hidden] = 0.0
        return x
""",
            """\
import torch
from torch import nn


class Hide(nn.Module):
    def forward(self, x):
        hidden = torch.ones(x.shape[0], dtype=torch.bool, device=x.device)
        x[hidden] = 0.0
        return x
""",
            torch=TorchVersion(2, 8),
        ),
    )

    quiet = (
        Example(
            "Before torch 2.9 a mask on the CPU is copied; but reading through one waits on the GPU too.",
            """\
import torch
from torch import nn


class Every(nn.Module):
    def forward(self, x):
        keep = torch.ones(x.shape[0], dtype=torch.bool)
        return x[keep]
""",
            torch=TorchVersion(2, 8),
        ),
        Example(
            "A boolean mask on the CPU selects from a CUDA tensor without a wait.",
            """\
import torch
from torch import nn


class Every(nn.Module):
    def forward(self, x):
        keep = torch.ones(x.shape[0], dtype=torch.bool)
        return x[keep]
""",
        ),
        Example(
            "Since torch 2.9 also when a number is written through it.",
            """\
import torch
from torch import nn


class Hide(nn.Module):
    def forward(self, x):
        hidden = torch.ones(x.shape[0], dtype=torch.bool)
        x[hidden] = 0.0
        return x
""",
            torch=TorchVersion(2, 9),
        ),
        Example(
            "The result of a solver on the CPU has to be copied anyway.",
            """\
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn


class Matcher(nn.Module):
    def forward(self, cost):
        rows, columns = linear_sum_assignment(cost.cpu())
        return cost[torch.as_tensor(rows), torch.as_tensor(columns)]
""",
        ),
        Example(
            "One CPU number at a time is read where it is.",
            """\
import torch
from torch import nn


class Swap(nn.Module):
    def forward(self, x):
        order = torch.randperm(x.shape[0])
        for place in range(2):
            x[place] = x[order[place]]
        return x
""",
        ),
        Example(
            "A table that is itself on the CPU.",
            """\
import torch
from torch import nn


class Draw(nn.Module):
    def forward(self, x):
        table = torch.zeros(16, 16)
        self.log(table[torch.arange(4)])
        return x
""",
        ),
        Example(
            "Built beside the tensor it selects from.",
            """\
import torch
from torch import nn


class Beside(nn.Module):
    def forward(self, x):
        return x[torch.randperm(x.shape[0], device=x.device)]
""",
        ),
        Example(
            "Indices made once, in `__init__`; what the module keeps as a buffer moves with it.",
            """\
import torch
from torch import nn


class Fixed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("order", torch.randperm(width))

    def forward(self, x):
        return x[:, self.order]
""",
        ),
    )
