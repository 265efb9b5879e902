"""Names by which a text shows that it works with PyTorch, and the one spelling we use for each public name.

Source: the public import paths of PyTorch 2.x and of the libraries built on it, from their documentation.
"""

from __future__ import annotations

FRAMEWORKS = (
    "torch", "lightning", "transformers", "accelerate", "diffusers", "timm", "fairseq", "deepspeed",
    "mmengine", "mmcv", "monai", "ignite", "fastai", "detectron2", "ultralytics",
)  # fmt: skip
"""Packages of programs that run on PyTorch."""

SIGNS = (*FRAMEWORKS, ".backward(", ".zero_grad(", ".cuda(")
"""A text that holds none of these has nothing for us."""


def shows_pytorch(text: str) -> bool:
    """Whether a text may be worth a look."""
    return any(sign in text for sign in SIGNS)


SPELLINGS = {
    "torch.utils.data.dataloader": "torch.utils.data",
    "torch.utils.data.dataset": "torch.utils.data",
    "torch.nn.modules.module": "torch.nn",
    "torch.nn.modules": "torch.nn",
    "torch.nn.parameter": "torch.nn",
    "torch.autograd.function": "torch.autograd",
    "torch._tensor": "torch",
    "pytorch_lightning": "lightning.pytorch",
    "lightning.pytorch.core.lightning": "lightning.pytorch",
    "lightning.pytorch.core": "lightning.pytorch",
    "lightning.LightningModule": "lightning.pytorch.LightningModule",
    "lightning.LightningDataModule": "lightning.pytorch.LightningDataModule",
    "torch_geometric.loader.dataloader": "torch_geometric.loader",
    "transformers.modeling_utils": "transformers",
}
"""Longer import paths, with what we write instead."""

USUAL_ALIASES = {
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "np": "numpy",
    "DataLoader": "torch.utils.data.DataLoader",
    "Dataset": "torch.utils.data.Dataset",
}
"""What nearly every program calls these, where only ``from helpers import *`` can have bound them."""
