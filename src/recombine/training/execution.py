"""How a run is executed: device, precision, compilation. Never part of a run's identity.

The fast path gives the result of the plain path within the tolerance that `tests/training` states; `Execution.plain`
switches back to float32 eager.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import torch

from recombine.errors import UserError

Precision = Literal["float32", "bfloat16"]
T = TypeVar("T")
GPU_FILES = ("nvidia[0-9]*", "dxg", "kfd", "nvhost-gpu")  # of NVIDIA, WSL, AMD, Jetson

NETWORKS = 128  # kinds of networks that one process may compile


@dataclass(frozen=True)
class Execution:
    """Where and how the arithmetic is done."""

    device: str = "cpu"
    precision: Precision = "float32"
    channels_last: bool = False
    compile: bool = False
    graphs: bool = False
    threads: int = 1
    sharing: int = 1  # processes that share the device, and so its seconds

    @classmethod
    def fastest(cls, device: str = "auto", threads: int = 1) -> Execution:
        """What was measured fastest on this kind of device (see benchmarks/README.md)."""
        device = resolve_device(device)
        if device.startswith("cuda"):
            return cls(device, "bfloat16", channels_last=True, compile=True, graphs=True, threads=threads)
        precision: Precision = "bfloat16" if _cpu_has_bfloat16() else "float32"
        return cls(device, precision, channels_last=True, threads=threads)

    @classmethod
    def plain(cls, device: str = "auto", threads: int = 1) -> Execution:
        """Float32, eager: the path that every faster one is compared with."""
        return cls(resolve_device(device), threads=threads)

    @property
    def uncompiled(self) -> Execution:
        """The same without compiling, for networks that train too short to earn it back."""
        return replace(self, compile=False)

    def asdict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def resolve_device(device: str) -> str:
    """Turn "auto" into a device that is here, and refuse one that is not."""
    if device == "auto":
        return "cuda" if _may_have_gpu() and torch.cuda.is_available() else "cpu"
    if device == "cpu":
        return device
    kind, colon, index = device.partition(":")
    if kind not in ("cpu", "cuda") or (colon and not index.isdigit()):
        raise UserError(f"unknown device '{device}': use auto, cpu, cuda or cuda:N")
    if kind == "cuda":
        if not torch.cuda.is_available():
            raise UserError("no GPU that torch can use on this machine: leave --device out, or say --device cpu")
        if index and int(index) >= torch.cuda.device_count():
            raise UserError(f"no device '{device}': this machine has {torch.cuda.device_count()} GPU(s), from cuda:0")
    return device


def _may_have_gpu() -> bool:
    """Whether it is worth asking torch, which takes a second to import: on Linux a GPU has a device file."""
    return sys.platform != "linux" or any(path for name in GPU_FILES for path in Path("/dev").glob(name))


def expect_many_networks() -> None:
    """Let one process compile the step of as many kinds of networks as a study has; torch gives up after eight."""
    import torch._dynamo

    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, NETWORKS)


def compiled_if_possible(attempt: Callable[[], T], compiled: bool, give_up: Callable[[], None]) -> T:
    """What the attempt gives. If it fails with a compiled network, it is made again after `give_up` has seen to it that
    the network is used as it is, only slower: there are networks that a version of torch cannot compile.
    """
    try:
        return attempt()
    except Exception as failure:
        if not compiled:
            raise
        what = (str(failure).strip().splitlines() or [type(failure).__name__])[0]
        warnings.warn(f"a network cannot be compiled here and goes on without: {what}", stacklevel=2)
    give_up()
    return attempt()


def avoid_cudnn_attention() -> None:
    """Keep cuDNN's attention out of training: its backward pass returns NaN for 64 tokens (8 x 8 pixels) now and then.

    Torch 2.11 to 2.13 prefer it on an H100 or H200 (pytorch issue 196678: tokens % 128 == 64 and a very negative
    log-sum-exp of a row). It takes a whole run with it; the other kernels are about as fast.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def keep_freed_memory() -> None:
    """Ask glibc to keep what a step frees for the next step, in large pages, instead of giving it back to the system.

    Activations of a small network are large blocks: without this a third of a CPU step goes into page faults, and small
    pages cost another twentieth. Elsewhere than on glibc and Linux it does nothing.
    """
    try:
        libc = ctypes.CDLL("libc.so.6")
        mallopt, madvise = libc.mallopt, libc.madvise
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_THRESHOLD, 1 << 30)
    mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(_M_TOP_PAD, HEAP)  # the heap grows by this much at once: room for all that a step needs
    torch.empty(HEAP // 4, dtype=torch.uint8)  # makes it grow now; what is not touched costs nothing
    for start, end in _heap():
        first = -(-start // _HUGE) * _HUGE
        madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), _MADV_HUGEPAGE)


HEAP = 1 << 30  # bytes
_HUGE = 2 << 20
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # malloc.h
_MADV_HUGEPAGE = 14  # mman.h


def _heap() -> list[tuple[int, int]]:
    """Where the heap of this process lies."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    spans = [line.split()[0].split("-") for line in lines if line.endswith("[heap]")]
    return [(int(start, 16), int(end, 16)) for start, end in spans]


def _cpu_has_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 in hardware; without it autocast only costs time."""
    asks = [getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")]
    return any(ask() for ask in asks if ask is not None)  # torch keeps these questions to itself
