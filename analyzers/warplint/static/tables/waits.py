"""Calls through which Python reads what a tensor holds, so that it waits for the GPU.

Source: measured on one NVIDIA H200 with torch 2.11 (CUDA 13.0), eager: work was queued, then the host was
timed over the call. ``bench/rules/blocking_calls.py`` measures all of it again.
"""

from __future__ import annotations

from typing import NamedTuple

from warplint.static.tables.words import words

METHODS = words("allclose equal is_nonzero item numpy tolist __array__ __bool__ __float__ __int__")
FUNCTIONS = words("torch.allclose torch.equal torch.is_nonzero")

BUILTINS = words("bool complex float format int max min print range repr str")
"""Built-in functions that read a tensor."""

ITERATING = words("abs all any enumerate iter list sorted sum tuple zip")
"""Built-in functions that take a tensor apart, without a wait but on the host."""

FREE = words("getattr hasattr hash id isinstance len type")
"""Built-in functions that leave the content alone."""


class Wait(NamedTuple):
    """Why a call waits, and what does the same without."""

    reads: str
    instead: str


COUNTED = {
    "unique": Wait("how many distinct values there are", "Do it once, where the data is prepared."),
    "unique_consecutive": Wait("how many runs there are", "Do it once, where the data is prepared."),
    "bincount": Wait(
        "the largest value, whatever `minlength` is",
        "Add ones into zeros of the right length with `scatter_add_`.",
    ),
    "histc": Wait("the smallest and the largest value", "Pass `min=` and `max=`."),
    "isin": Wait(
        "how many distinct values there are", "Compare with broadcasting: `(x[:, None] == y).any(1)`."
    ),
    "combinations": Wait("how many combinations there are", "Index with `torch.triu_indices` on the GPU."),
    "cov": Wait("whether the weights are valid", "Write it as a matrix product of the centred values."),
    "corrcoef": Wait("whether the weights are valid", "Write it as a matrix product of the centred values."),
    "to_sparse": Wait("how many elements are not zero", "Keep it dense, or build the indices once."),
}
"""Functions of that name in ``torch``, and methods, whose result cannot be allocated without a look."""

CHECKED = {
    "cholesky": "cholesky_ex",
    "eigh": None,
    "eigvalsh": None,
    "eig": None,
    "inv": "inv_ex",
    "inverse": "inv_ex",
    "ldl_factor": "ldl_factor_ex",
    "lstsq": None,
    "lu_factor": "lu_factor_ex",
    "matrix_exp": None,
    "matrix_rank": None,
    "pinv": None,
    "pinverse": None,
    "solve": "solve_ex",
    "svd": None,
    "svdvals": None,
}
"""Functions of linear algebra that read back whether they succeeded, each with the form that does not."""
