"""What PyTorch's optimizers can do."""

from __future__ import annotations

FUSED = frozenset({"Adagrad", "Adam", "AdamW", "SGD"})
"""Those in ``torch.optim`` that take ``fused=True``. Source: documentation of ``torch.optim``."""
