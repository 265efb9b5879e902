"""Good practice is seen by what code calls, wherever names come from, and not where it is switched off."""

from __future__ import annotations

import pytest
from scoring import scored

from warplint.advice.score.practices import PRACTICES

HEADER = """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
w = torch.ones(3)
"""

SHOWN = {
    "half precision": [
        "with torch.autocast('cuda'):\n    pass",
        "amp = True\nwith torch.autocast('cuda', enabled=amp):\n    pass",
        "from torch.cuda.amp import autocast as cast\n@cast()\ndef f(x):\n    return x",
        "import accelerate\na = accelerate.Accelerator(mixed_precision='bf16')",
        "import pytorch_lightning as pl\nt = pl.Trainer(precision='16-mixed')",
        "import lightning as L\nt = L.Trainer(precision=16)",
        "from transformers import TrainingArguments\na = TrainingArguments('out', bf16=True)",
        "net.to(torch.bfloat16)",
        "net.half()",
        "m = AutoModel.from_pretrained('x', torch_dtype=torch.float16)",
    ],
    "compiled": [
        "net = torch.compile(net)",
        "@torch.compile\ndef f(x):\n    return x",
        "@torch.compile()\ndef f(x): ...",
    ],
    "fused attention": [
        "y = F.scaled_dot_product_attention(q, k, v)",
        "from flash_attn import flash_attn_func\ny = flash_attn_func(q, k, v)",
        "m = AutoModel.from_pretrained('x', attn_implementation='sdpa')",
    ],
    "loader with workers": [
        "l = DataLoader(data, num_workers=4)",
        "l = torch.utils.data.dataloader.DataLoader(data, num_workers=2)",
    ],
    "CUDA graphs": [
        "with torch.cuda.graph(g):\n    pass",
        "net = torch.compile(net, mode='reduce-overhead')",
    ],
    "TF32 matrix products": [
        "torch.set_float32_matmul_precision('high')",
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cuda.matmul.fp32_precision = 'tf32'",
    ],
    "no autograd where nothing is trained": [
        "with torch.inference_mode():\n    pass",
        "@torch.no_grad\ndef f(x):\n    return x",
        "torch.set_grad_enabled(False)",
    ],
    "fused optimizer": ["o = torch.optim.AdamW(p, lr=1e-3, fused=True)"],
    "channels-last convolutions": [
        "x = x.to(memory_format=torch.channels_last)",
        "x = x.contiguous(memory_format=torch.channels_last_3d)",
    ],
    "gradients exchanged once an update": ["with ddp.no_sync():\n    pass"],
    "pinned batches": ["l = DataLoader(data, pin_memory=True)", "x = x.pin_memory()"],
    "copies that do not wait": ["x = x.to(device, non_blocking=True)", "x = x.cuda(non_blocking=True)"],
    "tensors made on their device": [
        "x = torch.arange(3, device=y.device)",
        "x = torch.zeros(3, device='cuda')",
    ],
    "constants kept as buffers": ["net.register_buffer('scale', s)"],
    "fastest convolutions chosen": ["torch.backends.cudnn.benchmark = True"],
    "workers kept between epochs": ["l = DataLoader(data, persistent_workers=True)"],
}

NOT_SHOWN = [
    "# torch.compile(net)",
    "text = 'torch.autocast'",
    "with torch.autocast('cuda', enabled=False):\n    pass",
    "with torch.autocast('cuda', enabled=amp):\n    pass",
    "def autocast(kind):\n    return kind\nautocast('cuda')",
    "class Net:\n    def compile(self):\n        return self\nNet().compile()",
    "import re\nr = re.compile('x')",
    "net.to(torch.float32)",
    "net.to(dtype)",
    "import lightning as L\nt = L.Trainer(precision=32)",
    "l = DataLoader(data, num_workers=0)",
    "l = DataLoader(data, pin_memory=False, persistent_workers=False)",
    "def DataLoader(data, num_workers):\n    return data\nl = DataLoader(data, num_workers=4)",
    "torch.set_float32_matmul_precision('highest')",
    "torch.set_float32_matmul_precision(precision)",
    "torch.backends.cuda.matmul.allow_tf32 = False",
    "torch.backends.cudnn.benchmark = args.benchmark",
    "if torch.backends.cudnn.benchmark:\n    pass",
    "torch.set_grad_enabled(True)",
    "o = torch.optim.AdamW(p, fused=False)",
    "x = x.to(device, non_blocking=False)",
    "x = x.to(memory_format=torch.contiguous_format)",
    "x = torch.arange(3, device='cpu')",
    "x = torch.arange(3, device=None)",
    "m = AutoModel.from_pretrained('x', attn_implementation='eager')",
]


def labels(statements: str) -> set[str]:
    """The practices seen in some statements, with the start left out."""
    return {part.label for part in scored(HEADER + statements).parts if part.points > 0} - {
        "where every file with GPU code starts"
    }


def test_every_practice_has_a_case() -> None:
    assert list(SHOWN) == [practice.label for practice in PRACTICES]


@pytest.mark.parametrize(
    ("label", "statements"), [(label, text) for label, texts in SHOWN.items() for text in texts]
)
def test_a_practice_is_seen(label: str, statements: str) -> None:
    assert label in labels(statements)


@pytest.mark.parametrize("statements", NOT_SHOWN)
def test_what_only_looks_like_it_is_not(statements: str) -> None:
    assert labels(statements) == set()


def test_a_practice_counts_once_at_its_first_place() -> None:
    parts = scored(HEADER + "net = torch.compile(net)\n" * 3).parts
    assert [(part.points, part.line) for part in parts if part.label == "compiled"] == [(5, 5)]
