"""What devices can do at most, by name. A device that is not here has no limits, and nothing is said of them.

Numbers are the makers' own, dense (without sparsity), one direction of the link. Where a data sheet gives
Tensor Core rates with sparsity, here is half of them.
"""

from __future__ import annotations

import re

from warplint.source.records import dataclass


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """``tensor_tflops`` is for ``tensor_dtype``: the type nearest to fp32 that its Tensor Cores take."""

    name: str
    fp32_tflops: float
    tensor_tflops: float
    tensor_dtype: str
    link_gb_s: float
    """To the host, x16, nominal."""
    source: str

    @property
    def fp32_excess(self) -> float:
        """The part of an fp32 product's time that its Tensor Cores would save at most."""
        return 1.0 - self.fp32_tflops / self.tensor_tflops


DEVICES: tuple[tuple[str, DeviceLimits], ...] = (
    (r"\bB200\b", DeviceLimits("B200", 75.0, 1100.0, "tf32", 64.0, "HGX B200 data sheet")),
    (r"\bH200\b", DeviceLimits("H200", 67.0, 494.5, "tf32", 64.0, "H200 data sheet")),
    (r"\bH100 PCIe\b", DeviceLimits("H100 PCIe", 51.0, 378.0, "tf32", 64.0, "H100 data sheet")),
    (r"\bH100\b.*\bHBM3\b", DeviceLimits("H100 SXM", 67.0, 494.5, "tf32", 64.0, "H100 data sheet")),
    (r"\bA100\b", DeviceLimits("A100", 19.5, 156.0, "tf32", 32.0, "A100 data sheet")),
    (r"\bA10\b", DeviceLimits("A10", 31.2, 62.5, "tf32", 32.0, "A10 data sheet")),
    (r"\bL40S\b", DeviceLimits("L40S", 91.6, 183.0, "tf32", 32.0, "L40S data sheet")),
    (r"\bL4\b", DeviceLimits("L4", 30.3, 60.0, "tf32", 32.0, "L4 data sheet")),
    (r"\bT4\b", DeviceLimits("T4", 8.1, 65.0, "fp16", 16.0, "T4 data sheet")),
    (r"\bV100\b", DeviceLimits("V100", 15.7, 125.0, "fp16", 16.0, "V100 data sheet (NVLink)")),
)
"""A pattern of the name that the driver gives, and what is known: the first that fits."""


def limits_of(device: str) -> DeviceLimits | None:
    """None for a device that is not in the table."""
    return next((limits for pattern, limits in DEVICES if re.search(pattern, device)), None)
