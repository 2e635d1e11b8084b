"""The denoising loss: a weighted squared error between the prediction of the network and its target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from recombine.denoisers.contract import Network, per_image
from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser

Weighting = Literal["simple", "min-snr"]

_GAMMA = 5.0  # Hang et al. 2023


def denoising_loss(
    model: NetworkDenoiser,
    x0: Tensor,  # [n, C, H, W]
    noise: Tensor,  # [n, C, H, W]
    sigma: Tensor,  # [n]
    condition: Tensor | None,  # [n, K]
    weighting: Weighting = "simple",
    network: Network | None = None,  # a part of the model's network, where x0 are parts of images
    judged: slice | None = None,  # the rows and the columns that count; all of them
) -> Tensor:
    """Mean over images and pixels of w(sigma) * (predict - target)^2, in float32.  # []"""
    by_image = image_losses(model, x0, noise, sigma, condition, network, judged)
    return (weight(model, sigma.float(), weighting) * by_image).mean()


def image_losses(
    model: NetworkDenoiser,
    x0: Tensor,
    noise: Tensor,
    sigma: Tensor,
    condition: Tensor | None,
    network: Network | None = None,
    judged: slice | None = None,
) -> Tensor:
    """The same of each image, unweighted.  # [n]"""
    x = x0 + per_image(sigma, x0) * noise
    error = model.predict(x, sigma, condition, network).float() - model.target(x0, noise, sigma).float()
    if judged is not None:
        error = error[:, :, judged, judged]
    return error.square().flatten(1).mean(1)


def weight(model: NetworkDenoiser, sigma: Tensor, weighting: Weighting) -> Tensor:
    """w(sigma) of this weighting, as it multiplies the error of this model's own prediction.  # [n]

    "simple" is 1: Ho et al.'s loss for noise, and EDM's lambda(sigma) for EDM's residual. "min-snr" is min(SNR, 5) on
    the error of x0, with SNR = 1 / sigma^2; an error of the output is c_out times smaller or larger than that of x0, so
    the weight is min(SNR, 5) for x0, min(SNR, 5) / SNR for noise, min(SNR, 5) / (SNR + 1) for v.
    """
    match weighting:
        case "simple":
            return sigma.new_ones(sigma.shape)
        case "min-snr":
            _, _, c_out = model.scales(sigma)
            return sigma.pow(-2).clamp(max=_GAMMA) * c_out.square()
    raise UserError(f"no weighting '{weighting}'; there are: {', '.join(get_args(Weighting))}")
