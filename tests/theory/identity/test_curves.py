"""Curves of learning: by hand."""

import pytest
import torch

from recombine.theory.identity.curves import along_path, first_times, retreat, setback, spaced, turning_points
from recombine.theory.identity.flow import descents


def row(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def assert_close(got: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


def test_curves_by_hand() -> None:
    curves = torch.stack([row(0, 1, 0), row(1, 0.5, 0.1), row(0.4, 2, 0.2), row(2, 1, 0.3)])
    assert_close(first_times(row(0, 1, 2, 4), curves[:, :2], 0.5), row(0.5, 0))
    assert first_times(row(0, 1, 2, 4), curves, 0.5)[2].isnan()
    assert_close(setback(curves), row(2, 1.5, 0.3))
    assert_close(setback(-curves), row(0.6, 1, 0))
    assert_close(retreat(curves), row(0.6, 0.5, 0))  # 2 of the second goes beyond its last


def test_moments_are_dense_in_the_beginning() -> None:
    assert spaced(101, 5) == [0, 6, 25, 56, 100]
    assert spaced(3, 30) == [0, 1, 2]


@pytest.mark.parametrize(
    ("curve", "turns"),
    [
        ([4, 3, 2, 1, 0.5, 0], []),
        ([4, 1, 2, 3, 1, 0], [1, 3]),
        ([4, 1, 1.03, 1, 0.5, 0], []),
        ([4, 2, 3, 1, 2, 0], [1, 2, 3, 4]),
        ([1, 4, 3, 2, 1, 0], []),
        ([1, 1, 1, 1], []),
        ([4, 1, 2, 3, 3, 3.5], [1]),
    ],
)
def test_turns_by_hand_and_as_many_as_falls(curve: list[float], turns: list[int]) -> None:
    losses = torch.tensor(curve, dtype=torch.float64)
    assert turning_points(losses, 0.01) == turns
    assert int(descents(losses[:, None], 0.01).falls) == (len(turns) // 2 + 1 if len(set(curve)) > 1 else 0)


def test_kept_places_follow_fast_turns() -> None:
    """A curve that climbs between 500 and 550 of 1,000 and rests otherwise: half of its way is there."""
    times = torch.arange(1001.0)
    climb = ((times - 500) / 50).clamp(0, 1)
    kept = along_path(times, climb[None], 41).tolist()
    assert (kept[0], kept[-1], len(kept)) == (0, 1000, 41)
    assert sum(500 <= place <= 550 for place in kept) == pytest.approx(21, abs=2)
