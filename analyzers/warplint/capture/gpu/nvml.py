"""Device samples through NVML, where it is installed and a GPU is in use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns
from typing import Any

import torch

SOURCE = "nvml"


class NvmlUnavailable(Exception):
    """A GPU is in use and cannot be sampled; the message says why."""


class Nvml:
    """The current CUDA device as NVML sees it."""

    def __init__(self, library: Any, handle: Any) -> None:
        self._library = library
        self._handle = handle
        self.driver = str(_text(library.nvmlSystemGetDriverVersion()))

    @classmethod
    def open(cls) -> Nvml | None:
        """None where the program uses no CUDA device. Raises NvmlUnavailable."""
        if not torch.cuda.is_initialized():
            return None
        try:
            import pynvml
        except ImportError:
            raise NvmlUnavailable("the package nvidia-ml-py is not installed") from None
        try:
            pynvml.nvmlInit()
            return cls(pynvml, pynvml.nvmlDeviceGetHandleByUUID(_device_uuid()))
        except pynvml.NVMLError as error:
            raise NvmlUnavailable(f"NVML: {error}") from None

    def close(self) -> None:
        self._library.nvmlShutdown()

    def sample(self) -> dict[str, float | int | str]:
        """What can be read now: a figure the device does not give is left out."""
        sample: dict[str, float | int | str] = {"t_ns": perf_counter_ns(), "source": SOURCE}
        for read in self._readings():
            with suppress(self._library.NVMLError):
                sample.update(read())
        return sample

    def _readings(self) -> list[Callable[[], dict[str, float | int]]]:
        library, handle = self._library, self._handle

        def utilization() -> dict[str, float | int]:
            rates = library.nvmlDeviceGetUtilizationRates(handle)
            return {"kernel_active_percent": rates.gpu, "memory_active_percent": rates.memory}

        def memory() -> dict[str, float | int]:
            info = library.nvmlDeviceGetMemoryInfo(handle)
            return {"memory_used_bytes": info.used, "memory_total_bytes": info.total}

        def power() -> dict[str, float | int]:
            return {"power_w": library.nvmlDeviceGetPowerUsage(handle) / 1000}

        def clocks() -> dict[str, float | int]:
            return {
                "sm_clock_mhz": library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM),
                "memory_clock_mhz": library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_MEM),
            }

        return [utilization, memory, power, clocks]


def _device_uuid() -> str:
    """NVML numbers devices without regard to CUDA_VISIBLE_DEVICES; the UUID is the same for both."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    uuid = getattr(properties, "uuid", None)
    if uuid is None:
        raise NvmlUnavailable("this torch does not give a device's UUID")
    return f"GPU-{uuid}"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
