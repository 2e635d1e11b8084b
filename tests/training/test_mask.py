"""A mask keeps concepts from the network, each by itself, and changes nothing else."""

import math
from dataclasses import replace

import pytest
import torch

from recombine import seeds
from recombine.denoisers import network
from recombine.diffusion.losses import denoising_loss
from recombine.errors import UserError
from recombine.settings import build
from recombine.training.replica import TrainingConfig, batch_loss, draw_batch
from recombine.worlds.splits import draw
from support.replicas import BATCH, POOL, SCHEDULE, SHORT, WORLD, advance, make_model, make_replica

DRAW_SIGMA = SCHEDULE.drawer(torch.device("cpu"))


def batch_keys(count, order=0):
    return seeds.keys(order, "order", torch.arange(count))


def test_without_a_mask_the_loss_is_that_of_the_whole_condition():
    assert TrainingConfig().mask == 0
    model, key = make_model(), batch_keys(BATCH)
    images, condition = draw(POOL, key)
    sigma, noise = DRAW_SIGMA(seeds.uniform(key, lane=2)), seeds.normal(key, WORLD.image_shape, lane=3)
    expected = denoising_loss(model, images, noise, sigma, condition)
    assert torch.equal(whole_loss(model, key, 0.0), expected)


def whole_loss(model, key, mask):
    return batch_loss(model, *draw_batch(POOL, key, mask), key, DRAW_SIGMA, "simple")


@pytest.fixture
def handed(monkeypatch):
    """What a batch hands to the loss: images, noise, sigma, condition."""
    monkeypatch.setattr(network, "denoising_loss", lambda model, *parts: parts[:4])

    def parts(pool, mask, count=BATCH):
        key = batch_keys(count)
        return batch_loss(make_model(), *draw_batch(pool, key, mask), key, DRAW_SIGMA, "simple")

    return parts


@pytest.mark.parametrize("mask", [0.1, 0.3, 0.8])
def test_a_mask_hides_whole_concepts_each_by_itself(handed, mask):
    n, full = 4000, replace(POOL, conditions=torch.ones_like(POOL.conditions))
    _, _, sigma, condition = handed(full, mask, n)
    assert ((condition == 0) | (condition == 1)).all()
    hidden = condition == 0
    assert POOL.owner.tolist() == [0, 0, 1, 1, 1, 2]
    first = hidden[:, [0, 2, 5]].float()  # [n, concepts]
    assert torch.equal(first[:, POOL.owner], hidden.float())  # all numbers of a concept, or none
    error = math.sqrt(mask * (1 - mask) / n)
    assert (first.mean(0) - mask).abs().max() < 4.5 * error
    together = torch.corrcoef(torch.cat([first, sigma.log()[:, None]], 1).T) - torch.eye(4)
    assert together.abs().max() < 4.5 / math.sqrt(n)
    cube = mask**3
    assert (first.all(1).float().mean() - cube).abs() < 4.5 * math.sqrt(cube * (1 - cube) / n)


def test_a_mask_changes_nothing_but_what_is_hidden(handed):
    plain, masked = handed(POOL, 0.0, 500), handed(POOL, 0.3, 500)
    for one, other in zip(plain[:3], masked[:3], strict=True):
        assert torch.equal(one, other)
    shown = masked[3] != 0
    assert torch.equal(masked[3][shown], plain[3][shown])
    for concept in range(3):
        numbers = POOL.owner == concept
        same = (masked[3] == plain[3])[:, numbers].all(1)
        gone = (masked[3] == 0)[:, numbers].all(1)
        assert (same ^ gone).all()  # every concept has a number that is not zero
    more = handed(POOL, 0.6, 500)[3]
    assert (more[~shown] == 0).all()  # a larger mask hides what a smaller one hides


def test_a_replica_trains_with_the_mask_of_its_config():
    losses = {mask: advance(make_replica(SHORT.replace(mask=mask)), 1).take_loss() for mask in (0.0, 0.5)}
    for mask, loss in losses.items():
        expected = whole_loss(make_model(), batch_keys(BATCH), mask)
        assert loss == pytest.approx(expected.item(), abs=1e-6)
    assert losses[0.5] != pytest.approx(losses[0.0], abs=1e-5)


def test_a_masked_draw_is_one_graph():
    """No data-dependent control flow: it can be captured."""
    torch._dynamo.reset()
    compiled, key = torch.compile(draw_batch, backend="eager", dynamic=False, fullgraph=True), batch_keys(BATCH)
    for ours, plain in zip(compiled(POOL, key, 0.5), draw_batch(POOL, key, 0.5), strict=True):
        assert torch.equal(ours, plain)
    torch._dynamo.reset()


@pytest.mark.parametrize("mask", [-0.1, 1, 1.5, "half", None])
def test_a_mask_that_hides_too_much_or_too_little_is_refused_in_one_line(mask):
    with pytest.raises(UserError) as caught:
        build(TrainingConfig, {"mask": mask})
    assert f"'mask' = {mask!r}" in str(caught.value)
    assert "\n" not in str(caught.value)
