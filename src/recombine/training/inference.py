"""A trained model made ready to sample from: one denoise function, fast on the device it is on.

On a GPU the call is compiled and captured as one CUDA graph for each batch shape; many checkpoints and replicas of the
same network take turns in it by loading their weights into the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

import torch

from recombine.deferred import no_grad
from recombine.training.capture import capture, new_stream
from recombine.training.execution import Execution, compiled_if_possible, expect_many_networks

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser


class FastDenoiser:
    """Answers denoise(x, sigma, condition) -> x0 with whatever weights were loaded last."""

    def __init__(self, model: NetworkDenoiser, execution: Execution) -> None:
        self.model = model.to(execution.device).eval().requires_grad_(False)
        if execution.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.execution = execution
        if execution.compile:
            expect_many_networks()
        self._graphs: dict[object, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {}

    @property
    def device(self) -> torch.device:
        """Where it computes, by the name it was given: "cuda" and "cuda:0" would make every instrument twice."""
        return torch.device(self.execution.device)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Take over these weights, in place."""
        self.model.load_state_dict(dict(weights))

    @no_grad
    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        """The posterior mean that the network answers.  # [n, C, H, W]"""
        if not self.execution.graphs:
            return self._denoise(x, sigma, condition)
        shapes = (x.shape, None if condition is None else condition.shape)
        if shapes not in self._graphs:
            self._graphs[shapes] = self._capture(x, sigma, condition)
        return self._graphs[shapes](x, sigma, condition)

    def _denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        call = _compiled_denoise() if self.execution.compile else _denoise
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.execution.precision == "bfloat16"):
            return call(self.model, x, sigma, condition)

    def _give_up_compiling(self) -> None:
        self.execution = self.execution.uncompiled

    def _capture(
        self, x: Tensor, sigma: Tensor, condition: Tensor | None
    ) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
        inputs = [None if t is None else t.clone() for t in (x, sigma, condition)]
        graph, output = compiled_if_possible(
            lambda: capture(lambda: self._denoise(*inputs), new_stream()),  # type: ignore[arg-type]
            self.execution.compile,
            self._give_up_compiling,
        )

        def replay(*fresh: Tensor | None) -> Tensor:
            for place, value in zip(inputs, fresh, strict=True):
                if place is not None and value is not None:
                    place.copy_(value)
            graph()
            return output.clone()

        return replay


def _denoise(model: NetworkDenoiser, x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
    return model.denoise(x, sigma, condition)


@cache
def _compiled_denoise() -> Callable[..., Tensor]:
    return torch.compile(_denoise, dynamic=False, fullgraph=True)
