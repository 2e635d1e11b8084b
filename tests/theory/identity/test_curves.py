"""Curves of learning: by hand."""

import torch

from recombine.theory.identity.curves import first_times, retreat, setback


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
