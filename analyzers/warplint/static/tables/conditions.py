"""Names in conditions that show that no tensor is asked for its truth.

Source: the Python library, torch.Tensor in the PyTorch documentation.
"""

from __future__ import annotations

from warplint.static.tables.words import words

NEVER = words(
    """
    isinstance hasattr callable len issubclass is_tensor is_available exists startswith endswith isfile
    isdir is_initialized is_floating_point is_complex get is_main_process
    """
)
"""Calls whose result is never a tensor."""

FLAGS = words("training requires_grad is_cuda is_sparse")
"""Attributes that are Python booleans."""

SIZES = words("len type id size dim numel ndimension nelement")
"""Calls that give numbers or types, on tensors too."""

PROPERTIES = words("shape ndim dtype device type")
"""Attributes that are compared with what is no tensor."""
