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
    """Address of the maker's data sheet."""

    @property
    def fp32_excess(self) -> float:
        """The part of an fp32 product's time that its Tensor Cores would save at most."""
        return 1.0 - self.fp32_tflops / self.tensor_tflops


B200 = "https://nvdam.widen.net/s/wwnsxrhm2w/blackwell-datasheet-3384703"
H200 = "https://www.nvidia.com/en-us/data-center/h200/"
H100 = "https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet"
A100 = (
    "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/"
    "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"
)
A10 = "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a10/pdf/a10-datasheet.pdf"
L40S = "https://www.nvidia.com/en-us/data-center/l40s/"
L4 = "https://resources.nvidia.com/en-us-gpu-resources/l4-tensor-datasheet"
T4 = "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf"
V100 = (
    "https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf"
)

DEVICES: tuple[tuple[str, DeviceLimits], ...] = (
    (r"\bB200\b", DeviceLimits("B200", 75.0, 1100.0, "tf32", 64.0, B200)),
    (r"\bH200\b(?! NVL)", DeviceLimits("H200", 67.0, 494.5, "tf32", 64.0, H200)),
    (r"\bH100 PCIe\b", DeviceLimits("H100 PCIe", 51.0, 378.0, "tf32", 64.0, H100)),
    (r"\bH100\b.*\bHBM3\b", DeviceLimits("H100 SXM", 67.0, 494.5, "tf32", 64.0, H100)),
    (r"\bA100\b", DeviceLimits("A100", 19.5, 156.0, "tf32", 32.0, A100)),
    (r"\bA10\b", DeviceLimits("A10", 31.2, 62.5, "tf32", 32.0, A10)),
    (r"\bL40S\b", DeviceLimits("L40S", 91.6, 183.0, "tf32", 32.0, L40S)),
    (r"\bL4\b", DeviceLimits("L4", 30.3, 60.0, "tf32", 32.0, L4)),
    (r"\bT4\b", DeviceLimits("T4", 8.1, 65.0, "fp16", 16.0, T4)),
    (r"\bV100-PCIE\b", DeviceLimits("V100 PCIe", 14.0, 112.0, "fp16", 16.0, V100)),
    (r"\bV100\b", DeviceLimits("V100", 15.7, 125.0, "fp16", 16.0, V100)),
)
"""A pattern of the name that the driver gives, and what is known: the first that fits."""


def limits_of(device: str) -> DeviceLimits | None:
    """None for a device that is not in the table."""
    return next((limits for pattern, limits in DEVICES if re.search(pattern, device)), None)
