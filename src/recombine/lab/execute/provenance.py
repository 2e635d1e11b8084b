"""The provenance of a result: versions, device, date."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from recombine.training.execution import Execution
from recombine.version import __version__


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def describe_machine(execution: Execution) -> dict[str, Any]:
    """Versions, device and execution, ready for JSON."""
    return {
        "recombine": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in ("torch", "numpy", "scipy", "pydantic", "safetensors")},
        "system": f"{platform.system()} {platform.machine()}",
        "device": device_name(execution.device),
        "execution": execution.asdict(),
    }


def device_name(device: str) -> str:
    """The device in words: "NVIDIA H200", or the processor with its cores."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    return f"{_processor()}, {torch.get_num_threads()} thread(s)"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
