"""The machine and the versions that a run is made with."""

import importlib.metadata
import os
import platform
import socket

from unseen.learning.models import has_numba

RECORDED_PACKAGES = ("unseen", "torch", "numpy", "safetensors")


def current_environment() -> dict[str, str]:
    """The machine and the versions at hand."""
    versions = {name: importlib.metadata.version(name) for name in RECORDED_PACKAGES}
    versions["numba"] = importlib.metadata.version("numba") if has_numba() else "not installed"
    machine = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "host": socket.gethostname(),
    }
    return machine | versions
