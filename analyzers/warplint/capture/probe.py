"""Prints, as one line of JSON, what a capture would find in the Python that runs this file.

Run by path, in a process of its own, by the program's Python. Warplint need not be installed there.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

MARK = "warplint-probe:"
"""Stands before the JSON: what torch prints at its import is not to be taken for it."""
WATCHED_VARIABLES = (
    "CUDA_INJECTION64_PATH",
    "NSYS_PROFILING_SESSION_ID",
    "KINETO_USE_DAEMON",
    "COVERAGE_PROCESS_START",
    "CUDA_LAUNCH_BLOCKING",
    "TEARDOWN_CUPTI",
    "KUBERNETES_SERVICE_HOST",
)


def facts() -> dict[str, Any]:
    return {
        "executable": sys.executable,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "system": platform.system(),
        "variables": {name: os.environ[name] for name in WATCHED_VARIABLES if name in os.environ},
        "tools": tools_in_use(),
        "traced": sys.gettrace() is not None,
        **torch_facts(),
        **nvml_facts(),
    }


def tools_in_use() -> dict[str, str]:
    """``sys.monitoring``'s tool ids that are taken, with their owners' names."""
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is None:
        return {}
    owners = {str(tool): monitoring.get_tool(tool) for tool in range(6)}
    return {tool: str(owner) for tool, owner in owners.items() if owner}


def torch_facts() -> dict[str, Any]:
    if find_spec("torch") is None:
        return {"torch": None, "torch_error": None}
    try:
        import torch

        activities: Callable[[], set[Any]] = torch.profiler.supported_activities
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return {
            "torch": str(torch.__version__),
            "torch_error": None,
            "cuda": torch.version.cuda,
            "hip": torch.version.hip,
            "activities": sorted(each.name for each in activities()),
            "gpus": [torch.cuda.get_device_name(index) for index in range(count)],
        }
    except Exception as error:
        return {"torch": None, "torch_error": f"{type(error).__name__}: {error}"}


def nvml_facts() -> dict[str, Any]:
    try:
        import pynvml
    except ImportError:
        return {"driver": None, "nvml_error": "the package nvidia-ml-py is not installed"}
    try:
        pynvml.nvmlInit()
        version = pynvml.nvmlSystemGetDriverVersion()
        pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return {"driver": None, "nvml_error": str(error)}
    return {"driver": version.decode() if isinstance(version, bytes) else version, "nvml_error": None}


if __name__ == "__main__":
    print(MARK + json.dumps(facts()))
