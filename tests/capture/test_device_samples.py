"""Device samples, read through a library of NVML's shape that has what some devices have."""

from __future__ import annotations

from types import SimpleNamespace

from warplint.capture.gpu.nvml import Nvml


class NVMLError(Exception):
    pass


class Library:
    """A device that gives utilization and power, and neither memory nor clocks."""

    NVMLError = NVMLError
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    open = True

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"580.1"

    def nvmlDeviceGetUtilizationRates(self, handle: object) -> SimpleNamespace:
        return SimpleNamespace(gpu=42, memory=17)

    def nvmlDeviceGetPowerUsage(self, handle: object) -> int:
        return 350_500

    def nvmlDeviceGetMemoryInfo(self, handle: object) -> SimpleNamespace:
        raise NVMLError("not supported")

    def nvmlDeviceGetClockInfo(self, handle: object, clock: int) -> int:
        raise NVMLError("not supported")

    def nvmlShutdown(self) -> None:
        self.open = False


def test_a_sample_holds_what_the_device_gives() -> None:
    sample = Nvml(Library(), object()).sample()
    assert isinstance(sample.pop("t_ns"), int)
    assert sample == {
        "source": "nvml",
        "kernel_active_percent": 42,
        "memory_active_percent": 17,
        "power_w": 350.5,
    }


def test_the_driver_is_named() -> None:
    assert Nvml(Library(), object()).driver == "580.1"


def test_nvml_is_let_go_of() -> None:
    library = Library()
    Nvml(library, object()).close()
    assert not library.open


def test_without_cuda_there_are_no_samples() -> None:
    assert Nvml.open() is None
