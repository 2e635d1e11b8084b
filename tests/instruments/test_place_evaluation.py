"""Places that were never seen, told by the nearest one seen and by those seen in line."""

import pytest
import torch

from recombine.instruments.place_evaluation import unseen_rows
from recombine.worlds.bumps import BumpsWorld


def test_unseen_places_are_told_by_distance_and_by_line() -> None:
    labels = BumpsWorld(pixels=4).centres()
    trained = torch.tensor([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]], dtype=torch.float64)
    shares = (labels[:, 0] == 4).double()  # right in the last column alone
    found = {(row["instrument"], row["node"]): row["value"] for row in unseen_rows(shares, labels, trained, "fine")}
    assert {name: value for name, value in found.items() if name[0] == "near.fine"} == {
        ("near.fine", "1"): 0.0,  # (1, 3), (2, 2), (3, 1)
        ("near.fine", "2"): pytest.approx(1 / 4),  # (1, 4), (2, 3), (3, 2), (4, 1)
        ("near.fine", "3"): pytest.approx(2 / 5),  # (2, 4), (3, 3), (3, 4), (4, 2), (4, 3)
        ("near.fine", "4"): 1.0,  # (4, 4)
    }
    assert found["lines.fine", "1"] == 0  # (2, 2) alone has both its row and its column seen, once each
    assert found["lines.fine", "0"] == pytest.approx(4 / 12)


def test_nothing_is_told_of_what_was_seen() -> None:
    labels = BumpsWorld(pixels=3).centres()
    assert unseen_rows(torch.ones(9), labels, labels, "fine") == []
