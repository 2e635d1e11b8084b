"""Work on a GPU recorded once as a CUDA graph, to be replayed as one launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

T = TypeVar("T")

WARMING = 3  # times that the work is done before it is recorded


def capture(work: Callable[[], T], stream: torch.cuda.Stream) -> tuple[Callable[[], None], T]:
    """Warm the work up and record it; a function that replays it, and what the work returned, rewritten each time.

    The graph owns the workspaces of its matrix products. Torch keeps them by stream: graphs that were captured on the
    same stream, of which it has 32 in turn, would share them, and lose them when one of the graphs goes.
    """
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(WARMING):
            work()
    torch.cuda.synchronize()
    _forget_workspaces()  # so that the recording takes new ones, from the memory of the graph
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        result = work()
    _forget_workspaces()  # so that no other work takes those
    return graph.replay, result


def repeat(work: Callable[[], None], times: int, device: torch.device) -> None:
    """Do work that needs nothing of the host so many times; on a GPU it is recorded on the way, and replayed."""
    if device.type == "cuda" and times > WARMING:
        replay, _ = capture(work, new_stream())  # warming up is the first times
        work, times = replay, times - WARMING
    for _ in range(times):
        work()
    if device.type == "cuda":
        torch.cuda.synchronize()


def _forget_workspaces() -> None:
    torch._C._cuda_clearCublasWorkspaces()


def new_stream() -> torch.cuda.Stream:
    """A stream beside the others."""
    return torch.cuda.Stream()  # type: ignore[no-untyped-call]
