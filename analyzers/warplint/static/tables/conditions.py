"""Names in conditions that show that no tensor is asked for its truth.

Source: the Python library, torch.Tensor in the PyTorch documentation.
"""

from __future__ import annotations

import re

from warplint.source.pattern import Pattern
from warplint.static.tables.words import words

NEVER = words(
    """
    callable endswith exists get getattr hasattr is_available is_compiling is_complex is_exporting
    is_floating_point is_in_onnx_export is_initialized is_main_process is_scripting is_tensor is_tracing isdir
    isfile isinstance issubclass len startswith
    """
)
"""Calls whose result is never a tensor."""

FLAGS = words("training requires_grad is_cuda is_sparse")
"""Attributes that are Python booleans."""

SIZES = words("len type id size dim numel ndimension nelement")
"""Calls that give numbers or types, on tensors too."""

PLAIN_CALLS = words("bool dict float getattr int isinstance len list partial range set str tuple")
"""Calls that give Python objects."""

PROPERTIES = words("shape ndim dtype device type")
"""Attributes that are compared with what is no tensor."""

ON_GPU = words("is_cuda")
"""Attributes of tensors that are true on a GPU of CUDA."""

ELSEWHERE = words("is_cpu is_meta is_mps is_xla")
"""Attributes of tensors that are true where no GPU of CUDA is asked to work."""

NO_GPUS = words("cpu meta mps")
"""Types of devices that are no GPU of CUDA."""

DEVICES = words("device device_type dev")
"""Names of the device that a function works on; others, as ``offload_device``, are one beside it."""

DEVICE_TYPES = words("type device_type")
"""Names of a device's kind, which has no number."""

BESIDE = Pattern(r"(^|_)(offload|swap|nvme|stor(e|age)(_|$)|replay)", re.IGNORECASE)
"""Parts of the names of what is kept beside the computing, which may be on the CPU where that is on a GPU."""

MOVES = Pattern(r"cuda|(\w+_)?to_(\w+_)?(cuda|gpu|device)")
"""Methods and helpers that move tensors to a GPU, by name."""
