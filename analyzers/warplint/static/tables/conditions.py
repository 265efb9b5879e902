"""Names in conditions that show that no tensor is asked for its truth.

Source: the Python library, torch.Tensor in the PyTorch documentation.
"""

from __future__ import annotations

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
