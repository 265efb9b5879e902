"""Kernels that multiply matrices, convolutions among them, by the names of the libraries that have them."""

from __future__ import annotations

import functools
import re

from warplint.profile.names.signature import dtype

_PRODUCT = re.compile(
    r"gemm|gemv|cutlass|xmma|convolve|scudnn|cudnn.*conv|conv.*cudnn|dgrad|wgrad|fprop|winograd|conv[23]d|"
    r"matmul|^nvjet",
    re.I,
)
"""cuBLAS, cuDNN, CUTLASS, and kernels that are named after what they do."""
_TENSOR_CORES = re.compile(r"tf32|tensorop|hmma|imma|gmma|s884|1688|16816|16832", re.I)
_SCALAR_UNITS = re.compile(
    r"simt|ffma|sgemm|scudnn|convolve_sgemm|(?:dgrad|wgrad\w*)_\w*engine|winograd", re.I
)
"""Kernels that are written for the units that multiply one number at a time."""


@functools.lru_cache(maxsize=4096)
def is_product(name: str) -> bool:
    return bool(_PRODUCT.search(name))


@functools.lru_cache(maxsize=4096)
def is_fp32_product(name: str) -> bool:
    """Whether a kernel multiplies matrices of fp32, or convolves them, without Tensor Cores."""
    return bool(
        is_product(name)
        and _SCALAR_UNITS.search(name)
        and not _TENSOR_CORES.search(name)
        and dtype(name) == "fp32"
    )
