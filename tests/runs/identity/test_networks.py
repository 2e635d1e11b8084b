"""What the experiments on released networks share: points, starts, paths and times."""

from typing import Any

import pytest
import torch

from recombine.errors import UserError
from recombine.runs.identity.networks import mixed
from recombine.runs.identity.order import OrderConfig
from recombine.settings import override
from recombine.theory.identity.flow import affine, augmented

SMALL = OrderConfig(world=OrderConfig().world.replace(dimensions=6), count=40, starts=5, datasets=2, every=1)


def test_an_epoch_of_the_released_code() -> None:
    """118 steps of batches of 128 out of 15,000 points; 0.369 units of time for d = 64 and rate 0.1."""
    config = OrderConfig()
    assert config.steps_per_epoch == 118
    assert config.time_per_epoch == pytest.approx(0.36875)
    assert config.replace(descent={"batch": None}).steps_per_epoch == 118


def test_mixing_keeps_every_point_and_spreads_the_clusters() -> None:
    points = torch.arange(300.0)[:, None]
    found = mixed(points, 3)
    assert torch.equal(found.sort(0).values, points)
    shares = [float((found[:100, 0] // 100 == cluster).double().mean()) for cluster in range(3)]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.15)
    assert not torch.equal(found, mixed(points, 4))


def test_seeds_of_nets_and_of_points_do_not_mix() -> None:
    other_nets, other_data = override(SMALL, {"seeds.init": 1}), override(SMALL, {"seeds.data": 1})
    assert len(set(SMALL.net_seeds())) == 5
    assert SMALL.net_seeds() == other_data.net_seeds() != other_nets.net_seeds()
    assert SMALL.data_seeds() == other_nets.data_seeds() != other_data.data_seeds()
    assert not set(SMALL.data_seeds()) & set(SMALL.data_seeds("other points"))


@pytest.mark.parametrize("bias", [True, False])
def test_paths_begin_where_the_starts_say(bias: bool) -> None:
    """The answer before training is that of the start, turned back; in the plane of the concepts nothing is lost."""
    config = SMALL.replace(net={"layers": 1, "bias": bias})
    probe = config.world.probe()
    path = config.paths(probe[None])
    start = config.one_layer_starts(2)  # [n, 2, 2 (+ 1)]
    expected = start[..., :2] @ probe[:2] + (start[..., 2] if bias else 0)
    assert torch.allclose(path.answers[0, :, 0, :2], expected, atol=1e-5)
    assert path.epochs[0] == 0
    assert path.epochs[-1] == 40


def test_full_batches_follow_the_affine_form_of_the_points() -> None:
    """Small steps on all points are gradient flow: each start follows the closed form of its weights."""
    config = SMALL.replace(descent={"batch": None, "steps": 400, "rate": 0.02}, count=4_000, every=400, datasets=1)
    flat = config.world.replace(dimensions=2)
    time = torch.tensor([400 * 0.02 * 2 / 6], dtype=torch.float64)
    probe = torch.cat([flat.probe(), torch.ones(1, dtype=torch.float64)])
    expected = affine(augmented(flat), config.one_layer_starts(2), time)[0] @ probe  # [n, 2]
    found = config.paths(config.world.probe()[None]).answers[-1, :, 0, :2]
    assert torch.allclose(found, expected, atol=0.02)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"datasets": 6}, "6 datasets for 5 starts"),
        ({"starts": 0}, "starts"),
        ({"count": 0}, "count"),
        ({"world.spreads": [-1.0, 1.0]}, "negative"),
        ({"start": 4}, "did you mean 'starts'"),
    ],
)
def test_bad_settings_are_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(SMALL, changes)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
