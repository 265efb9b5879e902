"""Calls that make the host wait for the GPU.

Source: measured on one NVIDIA H200 with torch 2.11 (CUDA 13.0), eager: work was queued, then the host was
timed over the call.
"""

from __future__ import annotations

METHODS = frozenset(
    {
        "item",
        "tolist",
        "cpu",
        "numpy",
        "nonzero",
        "argwhere",
        "masked_select",
        "unique",
        "unique_consecutive",
        "bincount",
        "equal",
        "allclose",
        "is_nonzero",
        "to_sparse",
        "inverse",
        "cholesky",
        "cov",
        "corrcoef",
    }
)
"""Methods of a CUDA tensor that always wait."""

FUNCTIONS = frozenset(
    {
        "torch.equal",
        "torch.allclose",
        "torch.is_nonzero",
        "torch.nonzero",
        "torch.argwhere",
        "torch.masked_select",
        "torch.isin",
        "torch.unique",
        "torch.unique_consecutive",
        "torch.bincount",
        "torch.combinations",
        "torch.inverse",
        "torch.linalg.inv",
        "torch.linalg.cholesky",
        "torch.linalg.solve",
        "torch.linalg.svd",
        "torch.linalg.eigh",
        "torch.linalg.lstsq",
        "torch.linalg.matrix_rank",
        "torch.nn.functional.ctc_loss",
        "torch.cuda.synchronize",
        "torch.cuda.empty_cache",
        "torchvision.ops.nms",
        "torchvision.ops.batched_nms",
        "torchvision.ops.remove_small_boxes",
    }
)
"""Functions that always wait when they work on CUDA tensors."""

BUILTINS = frozenset(
    {"bool", "complex", "float", "format", "int", "max", "min", "print", "range", "repr", "str"}
)
"""Built-in functions that read a CUDA tensor; ``len``, ``list``, ``sum`` and ``hash`` do not wait."""

WITHOUT_ARGUMENT = {
    "torch.where": "x",
    "torch.repeat_interleave": "output_size",
    "torch.nn.functional.one_hot": "num_classes",
    "torch.histc": "min",
}
"""Functions that wait only without this argument (``repeat_interleave``: and with a tensor of repeats)."""
