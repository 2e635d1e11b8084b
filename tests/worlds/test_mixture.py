"""The mixture: its moments by hand and from its own points; truncation, rotation, seeds; bad input in one line."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import UserError
from recombine.settings import build, fingerprint
from recombine.worlds.mixture import MixtureWorld

SMALL = MixtureWorld(dimensions=3, signals=(1.0, 2.0), spreads=(0.1, 0.3))


# Moments


def test_second_moment_by_hand() -> None:
    """a_p = sigma_p^2 + mu_p^2 / s; with the origin there is one cluster more to divide by; idle coordinates have 0."""
    expected = torch.tensor([0.01 + 1 / 2, 0.09 + 4 / 2, 0], dtype=torch.float64)
    torch.testing.assert_close(SMALL.second_moment(), expected)
    with_origin = SMALL.replace(origin=True)
    assert (SMALL.clusters, with_origin.clusters) == (2, 3)
    expected = torch.tensor([0.01 + 1 / 3, 0.09 + 4 / 3, 0], dtype=torch.float64)
    torch.testing.assert_close(with_origin.second_moment(), expected)
    torch.testing.assert_close(with_origin.mean(), torch.tensor([1 / 3, 2 / 3, 0], dtype=torch.float64))
    as_variance = torch.tensor([0.1 + 1 / 2, 0.3 + 4 / 2, 0], dtype=torch.float64)
    torch.testing.assert_close(SMALL.replace(spread_as="variance").second_moment(), as_variance)


def test_centres_lie_on_the_axes_and_the_probe_on_all_of_them() -> None:
    centres = SMALL.replace(origin=True).centres()
    assert centres.tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert SMALL.probe().tolist() == [1, 2, 0]
    assert {name: probe.tolist() for name, probe in SMALL.probes().items()} == {
        "01": [0, 2, 0],
        "10": [1, 0, 0],
        "11": [1, 2, 0],
    }
    assert len(MixtureWorld(signals=(1, 2, 3, 4), spreads=(0, 0, 0, 0)).probes()) == 15


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 4), st.booleans(), st.sampled_from(["deviation", "variance"]), st.integers(0, 1000))
def test_points_have_the_moments_the_world_says(concepts: int, origin: bool, spread_as: str, seed: int) -> None:
    world = MixtureWorld(
        dimensions=5,
        signals=tuple(1 + 0.5 * p for p in range(concepts)),
        spreads=tuple(0.05 + 0.2 * p for p in range(concepts)),
        spread_as=spread_as,
        origin=origin,
    )
    count = 4000
    points = world.points(count, seed)
    assert points.shape == (world.clusters * count, 5)
    assert points.dtype == torch.float64
    found = points.T @ points / len(points)
    for moment, expected in ((found, torch.diag(world.second_moment())), (points.mean(0), world.mean())):
        assert (moment - expected).abs().max() < 0.12  # five standard errors of the widest cluster
    spread = points.reshape(world.clusters, count, 5).var(1)[:, :concepts]  # [clusters, s]
    assert (spread / world.variances - 1).abs().max() < 6 * math.sqrt(2 / count)
    assert not points[:, concepts:].any()


# Seeds


def test_many_seeds_are_each_their_own() -> None:
    together = SMALL.replace(truncated=True).points_of(50, [3, 4, 5])
    assert together.shape == (3, 100, 3)
    for seed, points in zip((3, 4, 5), together, strict=True):
        assert torch.equal(points, SMALL.replace(truncated=True).points(50, seed))
    assert not torch.equal(together[0], together[1])


def test_more_points_change_none_of_the_first() -> None:
    few, many = (SMALL.points(count, 0).reshape(2, count, 3) for count in (10, 100))
    assert torch.equal(few, many[:, :10])


def test_clusters_are_drawn_independently() -> None:
    residual = SMALL.points(1000, 0).reshape(2, 1000, 3) - SMALL.centres()[:, None]
    assert torch.corrcoef(residual[:, :, 0]).triu(1).abs().max() < 0.15


def test_no_points_and_other_precision() -> None:
    assert SMALL.points(0, 0).shape == (0, 3)
    assert SMALL.points_of(5, []).shape == (0, 10, 3)
    single = SMALL.points(20, 1, torch.float32)
    assert single.dtype == torch.float32
    assert torch.equal(single, SMALL.points(20, 1).float())


# Truncation and rotation


def test_truncation_leaves_none_near_the_probe_and_all_others_as_they_were() -> None:
    world = MixtureWorld(dimensions=2, signals=(1.0, 1.5), spreads=(0.8, 0.8))
    before, after = world.points(5000, 0), world.replace(truncated=True).points(5000, 0)
    near = (before - world.probe()).norm(dim=1) < 0.5
    assert near.double().mean() > 0.05
    assert (after - world.probe()).norm(dim=1).min() >= 0.5
    assert torch.equal(before[~near], after[~near])
    assert not (before[near] == after[near]).any()
    again, kept = after[5000:][near[5000:]], after[5000:][~near[5000:]]  # of one cluster: the same law
    assert (again.mean(0) - kept.mean(0)).abs().max() < 0.2  # five standard errors
    assert (again.std(0) / kept.std(0) - 1).abs().max() < 0.2


def test_rotation_is_orthogonal_random_and_only_where_asked_for() -> None:
    world = MixtureWorld(dimensions=32, rotated=True)
    turned = world.rotation(0)
    identity = torch.eye(32, dtype=torch.float64)
    torch.testing.assert_close(turned @ turned.T, identity, rtol=0, atol=1e-13)
    assert torch.equal(turned, world.rotation(0))
    assert (turned - world.rotation(1)).abs().max() > 0.1
    assert turned.abs().max() < 0.9
    assert torch.equal(world.replace(rotated=False).rotation(0), identity)
    diagonal = torch.stack([MixtureWorld(dimensions=2, rotated=True).rotation(s) for s in range(400)])[:, 0, 0]
    assert diagonal.mean().abs() < 0.2  # QR by itself would give the diagonal one sign


# Settings


def test_worlds_that_differ_have_other_fingerprints() -> None:
    worlds = [SMALL, *(SMALL.replace(**{name: True}) for name in ("origin", "rotated", "truncated"))]
    assert len({fingerprint(world) for world in worlds}) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"signals": [], "spreads": []}, r"^no concepts: .*signals=\(1, 2\)$"),
        ({"spreads": [0.1]}, r"^2 signals but 1 spreads: .*$"),
        ({"dimensions": 1}, r"^2 concepts do not fit into 1 dimensions: raise dimensions$"),
        ({"spreads": [0.1, -0.2]}, r"^spread -0.2 is negative: give 0 or more$"),
        ({"signals": [1.0, math.nan]}, r"^'signals.1' = nan: .*finite number$"),
        ({"spreads": [math.inf, 0.1]}, r"^'spreads.0' = inf: .*finite number$"),
        ({"signals": [1.0], "spreads": [0.1], "truncated": True}, r"^the only cluster lies at the probe: .*$"),
        ({"spread_as": "precision"}, r"^'spread_as' = 'precision': .*$"),
        ({"signal": [1.0, 2.0]}, r"^unknown key 'signal'; did you mean 'signals'\?$"),
    ],
)
def test_bad_input_is_refused_in_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build(MixtureWorld, {**SMALL.model_dump(mode="json"), **changes})


def test_too_many_combinations_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"^20 concepts have too many combinations: ask for 12 at most$"):
        MixtureWorld(signals=(1.0,) * 20, spreads=(0.1,) * 20).probes()
