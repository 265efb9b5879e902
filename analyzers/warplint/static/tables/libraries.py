"""Packages that no program has files of its own for: what is imported from them is not looked for there.

Source: the standard library, and the packages most often imported beside PyTorch.
"""

from __future__ import annotations

import sys

from warplint.static.tables.words import words

LIBRARIES = sys.stdlib_module_names | words(
    """
    torch torchvision torchaudio numpy scipy pandas sklearn matplotlib PIL cv2 tqdm yaml einops wandb pytest
    """
)


def is_library(target: str) -> bool:
    """Whether an import is that of a library; a relative one never is."""
    return target.partition(".")[0] in LIBRARIES
