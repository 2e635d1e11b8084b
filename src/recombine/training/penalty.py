"""The denoising loss with a locality penalty: what a label changes far from its place costs."""

import torch
from torch import Tensor

from recombine.denoisers.contract import NetworkDenoiser, per_image
from recombine.denoisers.soft import SoftNetwork
from recombine.diffusion.losses import Weighting, weight


def penalised_loss(
    model: NetworkDenoiser,
    soft: SoftNetwork,  # the model's network
    x0: Tensor,  # [n, C, H, W]
    noise: Tensor,  # [n, C, H, W]
    sigma: Tensor,  # [n]
    condition: Tensor,  # [n, K]
    key: Tensor,  # [n]
    weighting: Weighting = "simple",
) -> Tensor:
    """Mean over images of w(sigma) * (error^2 + weight * change^2), each a mean over its own pixels.  # []

    Both are of the network's own prediction, so D(x, c + c') - D(x, c) counts at each noise level as an error of D
    does. One pass tells the network both labels: the penalty costs one more image of each, not two.
    """
    x = x0 + per_image(sigma, x0) * noise
    more, far = soft.second_place(condition, key)
    both = model.predict(torch.cat([x, x]), torch.cat([sigma, sigma]), torch.cat([condition, more])).float()
    said, other = both.chunk(2)
    error = (said - model.target(x0, noise, sigma).float()).square().flatten(1).mean(1)  # [n]
    changed = (other - said).square().mean(1, keepdim=True) * far  # [n, 1, H, W]
    change = changed.flatten(1).sum(1) / far.flatten(1).sum(1)  # [n]
    return (weight(model, sigma.float(), weighting) * (error + soft.weight * change)).mean()
