"""What kernels do, by the names of libraries and of PyTorch's own."""

from __future__ import annotations

import functools
import re

from warplint.advice.products import is_product

_COLLECTIVE = re.compile(r"^nccl|^rccl|^mscclKernel|ncclDevKernel|ncclKernel")
_MOVING = re.compile(
    r"elementwise|multi_tensor_apply|\bfused_dropout|CatArrayBatchedCopy|reduce_kernel|RowwiseMoments|"
    r"layer_?norm|batch_?norm|bn_(?:fw|bw)|group_?norm|[Ss]oft_?[Mm]ax|nchwToNhwc|nhwcToNchw|upsample|"
    r"index_(?:select|put|elementwise)|gather|scatter|dropout",
)
"""Kernels that read and write each number once or twice, and hardly compute."""
_FUSED = re.compile(r"^triton_|FusedOptimizer|Fused\w*MathFunctor")
"""Results of fusing: of torch.compile, and optimizers with ``fused=True``."""


@functools.lru_cache(maxsize=4096)
def is_collective(name: str) -> bool:
    return bool(_COLLECTIVE.search(name))


@functools.lru_cache(maxsize=4096)
def only_moves_memory(name: str) -> bool:
    """Of those that are not the result of fusing already."""
    return bool(_MOVING.search(name)) and not _FUSED.search(name) and not is_product(name)


def is_compiled(name: str) -> bool:
    """Whether torch.compile made the kernel."""
    return name.startswith("triton_")


def is_copy(name: str) -> bool:
    """Between host and device, or between devices."""
    return name.startswith("Memcpy ") and not name.startswith("Memcpy DtoD")
