"""How a label is scaled before a network embeds it: as it is, scaled as EDM2 scales a class, or blurred as well.

A grid with a single 1 among 256 zeros is a faint signal to a linear map whose weights start small: EDM2 multiplies a
class vector of length K by sqrt(K), so that its numbers have mean square 1. In a blurred grid neighbouring cells have
almost the same label, so that what is learned of one cell serves the next. Both are linear, fixed and lose nothing. A
local network receives the labels of each patch as they are, or, by "window", scaled by the square root of their number.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from recombine.denoisers.configs import Code
from recombine.errors import UserError
from recombine.worlds.scenes.labels import LabelConfig

BLUR = 0.75  # cells: standard deviation of a blurred label


class CodedNetwork(nn.Module):
    """A network whose label goes through a fixed linear code first."""

    code: Tensor

    def __init__(self, network: nn.Module, labels: LabelConfig, code: Code) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("code", code_matrix(labels, code), persistent=False)

    def forward(self, x: Tensor, noise_level: Tensor, condition: Tensor | None = None) -> Tensor:
        """The network's answer to the coded label."""
        if condition is None:
            raise UserError("this network was built for conditions: give it one")
        answer: Tensor = self.network(x, noise_level, condition.float() @ self.code)
        return answer


def code_matrix(labels: LabelConfig, code: Code) -> Tensor:
    """What a label is multiplied by.  # [K, K]"""
    scale = math.sqrt(labels.width)
    if code == "scaled":
        return scale * torch.eye(labels.width)
    if code == "window":
        raise UserError("a network that embeds the whole label has no windows: set code = 'scaled'")
    if labels.form != "grid":
        raise UserError("a list has no neighbouring cells to blur over: set labels.form = 'grid' or code = 'scaled'")
    at = torch.arange(labels.grid, dtype=torch.float64)
    away = torch.exp(-((at[:, None] - at[None]) ** 2) / (2 * BLUR**2))
    both = torch.kron(away, away)
    return (scale * both / both.square().sum(1).max().sqrt()).float()
