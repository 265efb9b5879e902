"""Calls through which Python reads what a tensor holds, so that it waits for the GPU.

Source: measured on one NVIDIA H200 with torch 2.11 (CUDA 13.0), eager: work was queued, then the host was
timed over the call.
"""

from __future__ import annotations

from warplint.static.tables.words import words

METHODS = words("allclose equal is_nonzero item numpy tolist __array__ __bool__ __float__ __int__")
FUNCTIONS = words("torch.allclose torch.equal torch.is_nonzero")

BUILTINS = words("bool complex float format int max min print range repr str")
"""Built-in functions that read a tensor."""

ITERATING = words("abs all any enumerate iter list sorted sum tuple zip")
"""Built-in functions that take a tensor apart, without a wait but on the host."""

FREE = words("getattr hasattr hash id isinstance len type")
"""Built-in functions that leave the content alone."""
