import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from recombine.denoisers.conditioners import Conditioner, Sinusoids, as_maps, map_channels
from recombine.denoisers.configs import ConditionConfig
from recombine.errors import UserError
from recombine.seeds import torch_seeded
from recombine.settings import build

WIDTHS = (2, 3, 1)


def conditioner(seed: int = 0, channels: tuple[int, ...] = (4, 6), **choices: object) -> Conditioner:
    with torch_seeded(seed):
        config = ConditionConfig(**{"hidden": 16, "width": 8, **choices})  # type: ignore[arg-type]
        return Conditioner(config, WIDTHS, list(channels)).double()


def interaction(net: Conditioner, seed: int) -> float:
    """Largest entry of e(a, b) - e(a', b) - e(a, b') + e(a', b'); a is the first concept, b the rest."""
    draw = torch.randn(2, sum(WIDTHS), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    first, rest = draw[:, : WIDTHS[0]], draw[:, WIDTHS[0] :]

    def embed(a: int, b: int) -> Tensor:
        return net.embed(torch.cat([first[a], rest[b]])[None])

    return (embed(0, 0) - embed(1, 0) - embed(0, 1) + embed(1, 1)).abs().max().item()


@pytest.mark.parametrize("entry", ["multiply", "add"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_separate_concepts_embed_additively(entry: str, seed: int) -> None:
    assert interaction(conditioner(seed, entry=entry), seed) < 1e-12


@pytest.mark.parametrize("entry", ["joint", "positional"])
def test_joint_entries_bind_the_concepts(entry: str) -> None:
    assert min(interaction(conditioner(seed, entry=entry), seed) for seed in range(5)) > 1e-3


def test_sinusoids_without_an_mlp_are_additive_again() -> None:
    assert interaction(conditioner(entry="positional", hidden=0), 0) < 1e-12


def test_the_sum_is_the_sum_of_the_concepts_own_mlps() -> None:
    net = conditioner()
    condition = torch.randn(5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    parts = [condition[:, :2], condition[:, 2:5], condition[:, 5:]]
    total = sum(mlp(part) for mlp, part in zip(net.concepts, parts, strict=True))
    torch.testing.assert_close(net.embed(condition), total)
    torch.testing.assert_close(torch.cat(net(condition), 1), net.head(total))


@pytest.mark.parametrize("entry", ["multiply", "add", "joint", "positional"])
def test_one_signal_for_each_block(entry: str) -> None:
    signals = conditioner(entry=entry, channels=(4, 6, 2))(torch.zeros(3, 6, dtype=torch.float64))
    assert [tuple(signal.shape) for signal in signals] == [(3, 4), (3, 6), (3, 2)]


def test_gain_one_starts_around_one_and_free_around_zero() -> None:
    condition = torch.rand(64, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    means = {
        gain: torch.cat(conditioner(gain=gain, hidden=64, width=64, channels=(256,))(condition), 1).mean().item()
        for gain in ("one", "free")
    }
    assert means["one"] == pytest.approx(1, abs=0.1)
    assert means["free"] == pytest.approx(0, abs=0.1)


def test_an_added_signal_is_not_raised_to_one() -> None:
    assert conditioner(entry="add", channels=(256,)).head.bias.abs().max() < 1
    assert conditioner(entry="joint", mode="add", channels=(256,)).head.bias.abs().max() < 1
    assert bool((conditioner(entry="joint").head.bias == 1).all())


def test_sinusoids_are_sine_and_cosine_at_the_stated_periods() -> None:
    waves = Sinusoids(6, (2.0, 200.0)).double()
    expected = [
        [math.sin(2 * math.pi * 3 / p) for p in (2, 20, 200)] + [math.cos(2 * math.pi * 3 / p) for p in (2, 20, 200)]
    ]
    torch.testing.assert_close(waves(torch.tensor([3.0]).double()), torch.tensor(expected).double(), atol=1e-6, rtol=0)


def test_sinusoids_of_the_default_are_those_of_the_transformer() -> None:
    # Vaswani et al. 2017: sin(x / 10000^(i / (half - 1))), the angles of the usual positional encoding.
    waves = Sinusoids(8, ConditionConfig().periods).double()
    x = torch.tensor([7.0], dtype=torch.float64)
    expected = torch.sin(x[:, None] / 10000 ** (torch.arange(4, dtype=torch.float64) / 3))
    torch.testing.assert_close(waves(x)[:, :4], expected, atol=1e-6, rtol=0)


def test_no_trainable_embedding_when_positional_has_no_hidden_layer() -> None:
    net = conditioner(entry="positional", hidden=0)
    assert {name for name, _ in net.named_parameters()} == {"head.weight", "head.bias"}
    assert net.head.in_features == 6 * 8


def test_a_flat_condition_becomes_maps_cell_by_cell() -> None:
    flat = torch.zeros(1, 8)
    flat[0, 4 + 1] = 1  # second map, top right cell of 2 x 2
    maps = as_maps(flat, (2, 2), torch.Size((4, 4)))
    expected = torch.zeros(1, 2, 4, 4)
    expected[0, 1, :2, 2:] = 1
    assert torch.equal(maps, expected)


def test_maps_finer_than_the_image_lose_no_mark() -> None:
    marks = torch.eye(16).reshape(16, 1, 4, 4)
    small = as_maps(marks, None, torch.Size((2, 2)))
    torch.testing.assert_close(small.sum((1, 2, 3)), torch.full((16,), 0.25))


def test_map_channels() -> None:
    assert map_channels(ConditionConfig(), WIDTHS) == 0
    assert map_channels(ConditionConfig(entry="spatial"), (3,)) == 3
    assert map_channels(ConditionConfig(entry="spatial", grid=(2, 3)), (6, 6)) == 2
    with pytest.raises(UserError, match=r"condition\.grid"):
        map_channels(ConditionConfig(entry="spatial", grid=(2, 2)), (6,))


def test_wrong_settings_are_one_line() -> None:
    with pytest.raises(UserError, match="entry"):
        build(ConditionConfig, {"entry": "multiplied"})
    with pytest.raises(UserError, match="did you mean 'hidden'"):
        build(ConditionConfig, {"hiden": 3})
    with pytest.raises(UserError, match="even width"):
        Sinusoids(5, (1.0, 2.0))
    with pytest.raises(UserError, match="period"):
        Sinusoids(4, (2.0, 1.0))
