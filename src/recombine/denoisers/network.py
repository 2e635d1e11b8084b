"""Networks as Denoisers: those that predict noise, x0, v or EDM's residual, and foreign ones in discrete steps.

They are wrapped here once, at the border; everything inside the package uses sigma.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import torch
from torch import Tensor, nn

from recombine.denoisers.configs import Prediction
from recombine.denoisers.contract import AnswersAt, Network, at_pixels, per_image
from recombine.diffusion.losses import Weighting, denoising_loss
from recombine.errors import UserError


class NetworkDenoiser(nn.Module):
    """A network `network(x_in, noise_level, condition)` and what its output means."""

    def __init__(self, network: nn.Module, prediction: Prediction, sigma_data: float = 0.5) -> None:
        super().__init__()
        if prediction not in get_args(Prediction):
            raise UserError(f"no prediction '{prediction}'; there are: {', '.join(get_args(Prediction))}")
        if not sigma_data > 0:
            raise UserError(f"sigma_data = {sigma_data}: the standard deviation of the data must be positive")
        self.network = network
        self.prediction: Prediction = prediction
        self.sigma_data = float(sigma_data)

    def predict(
        self, x: Tensor, sigma: Tensor, condition: Tensor | None = None, network: Network | None = None
    ) -> Tensor:
        """The raw output of the network (or of a part of it): compare it with `target`.  # [n, C, H, W]"""
        c_in, _, _ = self.scales(per_image(sigma, x))
        output: Tensor = (self.network if network is None else network)(c_in * x, sigma.log() / 4, condition)
        return output

    def target(self, x0: Tensor, noise: Tensor, sigma: Tensor) -> Tensor:
        """What `predict(x0 + sigma * noise, sigma)` should equal.  # [n, C, H, W]"""
        sigma = per_image(sigma, x0)
        match self.prediction:
            case "noise":
                return noise
            case "x0":
                return x0
            case "v":  # alpha noise - s x0 with alpha = 1 / sqrt(1 + sigma^2), s = sigma alpha
                return (noise - sigma * x0) * (1 + sigma**2).rsqrt()
            case "edm":  # (x0 - c_skip x) / c_out, expanded so that no digits cancel at small sigma
                data = self.sigma_data
                return (sigma / data * x0 - data * noise) * (sigma**2 + data**2).rsqrt()

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """x0, computed in float32 (float64 if x is) even when the network runs under autocast.  # [n, C, H, W]"""
        x, sigma = _widen(x), _widen(sigma)
        _, c_skip, c_out = self.scales(per_image(sigma, x))
        return c_skip * x + c_out * _widen(self.predict(x, sigma, condition))

    def denoise_at(self, pixels: Tensor, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """The same at pixels [n, p, 2] (row, column) alone, and no more work than that where the network can.

        # [n, p, C]
        """
        network = self.network
        if not isinstance(network, AnswersAt):
            return at_pixels(self.denoise(x, sigma, condition), pixels)
        x, sigma = _widen(x), _widen(sigma)
        _, c_skip, c_out = self.scales(sigma[:, None, None])
        output = self.predict(x, sigma, condition, lambda *given: network.at(pixels, *given))
        return c_skip * at_pixels(x, pixels) + c_out * _widen(output)

    def training_loss(
        self, images: Tensor, noise: Tensor, sigma: Tensor, condition: Tensor, key: Tensor, weighting: Weighting
    ) -> Tensor:
        """What a training step lowers: the network's own loss if it has one, else the denoising loss.  # []"""
        own = getattr(self.network, "training_loss", None)
        if own is not None:
            loss: Tensor = own(self, images, noise, sigma, condition, key, weighting)
            return loss
        return denoising_loss(self, images, noise, sigma, condition, weighting)

    def scales(self, sigma: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(c_in, c_skip, c_out): the network receives c_in x, and x0 = c_skip x + c_out * output.  # shapes of sigma"""
        unit = (1 + sigma**2).rsqrt()  # alpha, the square root of DDPM's alpha_bar
        match self.prediction:
            case "noise":
                return unit, torch.ones_like(sigma), -sigma
            case "x0":
                return unit, torch.zeros_like(sigma), torch.ones_like(sigma)
            case "v":
                return unit, unit**2, -sigma * unit
            case "edm":  # Karras et al. 2022, Table 1
                data = self.sigma_data
                c_in = (sigma**2 + data**2).rsqrt()
                return c_in, (data * c_in) ** 2, sigma * data * c_in


class DiscreteStepDenoiser(nn.Module):
    """A foreign noise predictor `eps(x_vp, step, condition)` of a DDPM schedule, as a Denoiser.

    `table` holds the sigmas of its steps, ascending (`schedule.table()`); `first_step` is the number its cleanest step
    goes by, 0 in most libraries, 1 in the DDPM paper. Any sigma is answered with the step nearest to it in log sigma.
    """

    def __init__(
        self, eps: Callable[[Tensor, Tensor, Tensor | None], Tensor], table: Tensor, first_step: int = 0
    ) -> None:
        super().__init__()
        if table.dim() != 1 or len(table) == 0 or bool((table <= 0).any()) or bool((table.diff() <= 0).any()):
            raise UserError("the sigmas of the discrete steps must be positive and ascending, one for each step")
        self.eps = eps
        self.first_step = first_step
        self.borders: Tensor  # log sigma halfway between neighbours  # [T - 1]
        self.register_buffer("borders", (table.log()[1:] + table.log()[:-1]) / 2, persistent=False)

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """x0 = x - sigma * eps, with x brought to the variance-preserving scale for the network.  # [n, C, H, W]"""
        x, level = _widen(x), per_image(_widen(sigma), x)
        step = torch.bucketize(sigma.log().to(self.borders), self.borders) + self.first_step  # [n]
        return x - level * _widen(self.eps(x * (1 + level**2).rsqrt(), step, condition))


def _widen(value: Tensor) -> Tensor:
    return value if value.dtype == torch.float64 else value.float()
