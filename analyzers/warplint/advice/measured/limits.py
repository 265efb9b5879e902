"""Every limit by which a capture's costs become a word on findings, or findings of their own.

Shares are of a captured step, without what the capture itself took. docs/measured.md explains them to users.
"""

from __future__ import annotations

from warplint.static.finding import Severity

SEVERITY_BY_SHARE = ((0.10, Severity.ERROR), (0.01, Severity.WARNING), (0.0, Severity.INFO))
"""The severity of what was measured, by what it costs: the first whose share it reaches. A tenth of a step is
worth stopping for; what is under a hundredth is lost in how much steps differ."""

MOSTLY_IDLE = 0.5
"""Share of a step in which the GPU has nothing to do, from which on less work for it gains next to nothing:
the step waits for something else."""

SAME_PROGRAM = 0.5
"""Share of a text's measured lines that stand unchanged, below which the text is another program than the one
that was captured, or was written anew: what concerns the whole run or step is not told of it."""

LEAST_SHARE = 0.01
"""What no rule reports is reported by itself from this share on, for each kind of waste but these."""

LEAST_DATA_SHARE = 0.05
"""Of time in which the GPU has no batch: some is there in every program, between two epochs."""

LEAST_HOST_SHARE = 0.05
"""Of time in which the GPU has nothing to do while other code of the host runs on a line."""

LEAST_LAUNCH_SHARE = 0.05
"""Of time in which the GPU is fed too slowly."""

LEAST_PRODUCT_SHARE = 0.10
"""Of matrix products in float32: less is not worth a change of numbers."""

LOST_TO_WIDE_PRODUCTS = 0.5
"""How much of the time of wide matrix products is lost: every GPU with Tensor Cores multiplies at least
twice as fast in 16 bits."""

MANY_KERNELS = 100
"""Kernels a step of one line from which their number is the fault, at 5 to 10 µs for each launch."""

LAUNCH_US = 50.0
"""GPU idle for each launch of a line, up to which launching is what takes the host's time. While captured on
an H200, lines of four public programs that only launch took 15 to 34 µs; optimizers of few parameters 96 and
111 µs, and attention for which cuDNN plans anew in each step 474 µs (bench/results/public_programs.md)."""

TINY_KERNEL_US = 10.0
"""Mean time of a kernel below which launching it takes as long as running it."""

FEW_KERNELS = 20
"""Kernels a step of a line, or of the optimizer, up to which it does not work one tensor at a time."""

LEAST_RAN_SHARE = 0.01
"""Share that matrix products must have before a capture says what type they are in."""

LEAST_SAID_US = 0.1
"""A shorter time a step is none that the GPU's clock can tell."""
