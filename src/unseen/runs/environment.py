"""The machine and the versions that a run is made with."""

import importlib.metadata
import os
import platform
import socket
from functools import cache

RECORDED_PACKAGES = ("unseen", "torch", "numpy", "safetensors")


version = cache(importlib.metadata.version)  # which reads a file of the package each time


def current_environment() -> dict[str, str]:
    """The machine and the versions at hand."""
    versions = {name: version(name) for name in RECORDED_PACKAGES}
    machine = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",  # not the kernel, which tells whose
        "processor": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "host": socket.gethostname(),
    }
    return machine | versions
