"""The U-Net on folded pixels."""

import pytest
import torch

from recombine.denoisers.configs import FoldedConfig, UNetConfig
from recombine.denoisers.folded import FoldedNetwork
from recombine.errors import UserError

INNER = UNetConfig(channels=8, multipliers=(1, 2))
SHAPE = (3, 16, 16)


def network(**changes: int) -> FoldedNetwork:
    return FoldedNetwork(FoldedConfig(inner=INNER, **changes), SHAPE, (4,))


def test_an_image_goes_in_and_an_image_comes_out() -> None:
    x, level, given = torch.randn(2, *SHAPE), torch.zeros(2), torch.randn(2, 4)
    for fold in (1, 2, 4):
        assert network(fold=fold)(x, level, given).shape == x.shape


def test_folding_is_undone_where_it_was_done() -> None:
    """With an inner network that hands its input on, the image comes back."""
    folded = network(fold=2)

    class Through(torch.nn.Module):
        def forward(self, x: torch.Tensor, level: torch.Tensor, given: torch.Tensor | None) -> torch.Tensor:
            return x

    folded.inner = Through()  # type: ignore[assignment]
    x = torch.randn(2, *SHAPE)
    assert torch.equal(folded(x, torch.zeros(2), None), x)


def test_pixels_go_past_the_network_by_the_noise_level() -> None:
    folded = FoldedNetwork(FoldedConfig(inner=INNER, fold=4), SHAPE)
    x, level = torch.randn(2, *SHAPE), torch.tensor([0.0, 1.0])
    before = folded(x, level, None)
    assert torch.equal(before, torch.nn.functional.pixel_shuffle(inside(folded, x, level), 4))  # nothing at first
    with torch.no_grad():
        for parameter in folded.gain.parameters():
            parameter.fill_(0.5)
        past = (folded(x, level, None) - before) / x  # [n, C, H, W]
    assert torch.allclose(past, past[:, :1, :1, :1], atol=1e-3)
    assert abs(past[0, 0, 0, 0] - past[1, 0, 0, 0]) > 0.1


def inside(folded: FoldedNetwork, x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
    """The output of the inner network on the folded pixels."""
    where = folded.where.expand(len(x), -1, -1, -1)
    answer: torch.Tensor = folded.inner(torch.cat([torch.nn.functional.pixel_unshuffle(x, 4), where], 1), level, None)
    return answer[:, :48]


def test_every_square_has_its_own_position() -> None:
    where = network(fold=4).where  # [32, 4, 4]
    flat = where.flatten(1).T
    distance = torch.cdist(flat, flat) + 10 * torch.eye(16)
    assert where.shape == (32, 4, 4)
    assert distance.min() > 0.1
    assert network(position=0).where.shape[0] == 0


def test_a_size_that_does_not_fold_is_said() -> None:
    with pytest.raises(UserError, match="change fold"):
        network(fold=3)
