"""The denoising loss of labels that a model of bumps was trained on, and of all others (Liang et al. 2024, Fig 14c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from recombine import seeds
from recombine.deferred import no_grad
from recombine.diffusion.losses import image_losses
from recombine.instruments.bumps.subject import KNOWN, NEW, Subject, is_known
from recombine.instruments.observation import Row

if TYPE_CHECKING:
    from torch import Tensor

LOSS = "loss"
CHUNK = 1024  # noisy images at once


@no_grad
def loss_rows(subject: Subject, labels: Tensor, levels: int) -> list[Row]:
    """The mean loss of labels that were trained on, and of others, at evenly spread quantiles of the training noise."""
    world, device = subject.world, subject.device
    known = is_known(labels, subject.split.labels(world, subject.seeds.data))
    at = ((torch.arange(levels, device=device) + 0.5) / levels).repeat(len(labels))
    sigma = subject.schedule.drawer(device)(at)  # [n levels]
    key = seeds.keys(subject.seeds.sampling, "losses", torch.arange(len(sigma), device=device))
    found = torch.zeros(len(sigma))
    for part in torch.split(torch.arange(len(sigma)), CHUNK):
        label, number = labels[part // levels].to(device), part.to(device)
        x0, noise = world.render(label), seeds.normal(key[number], world.image_shape)
        losses = image_losses(subject.sampler.model, x0, noise, sigma[number], world.condition(label))
        found[part] = losses.cpu()
    of_label = found.reshape(len(labels), levels).double().mean(1)
    parts = {name: of_label[there] for name, there in ((KNOWN, known), (NEW, ~known)) if there.any()}
    return [
        {"region": name, "instrument": LOSS, "value": part.mean().item()} for name, part in parts.items() if len(part)
    ]
