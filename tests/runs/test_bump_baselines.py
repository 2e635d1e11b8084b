"""Computations beside runs of bumps; those of whole training sets are tested with the experiments that use them."""

import torch

from recombine.runs.bump_baselines import nearest


def test_the_nearest_label_is_found_and_ties_are_broken_by_chance() -> None:
    known = torch.tensor([[1.0, 1.0], [3.0, 1.0], [9.0, 9.0]], dtype=torch.float64)
    asked = torch.tensor([[1.4, 1.0], [8.0, 8.0], [2.0, 1.0]], dtype=torch.float64)
    answers = [nearest(asked, known, seed).tolist() for seed in range(8)]
    assert all(each[:2] == [[1, 1], [9, 9]] for each in answers)
    assert {tuple(each[2]) for each in answers} == {(1, 1), (3, 1)}
