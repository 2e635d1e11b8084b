"""Maps of places: a flat sheet, a crumpled one, points that are all as far from each other."""

import sys

import pytest
import torch

from recombine.errors import UserError
from recombine.instruments.representations.learned_maps import embed, neighbours
from recombine.worlds.bumps import BumpsWorld

AXIS = torch.arange(6, dtype=torch.float64)
PLACES = torch.cartesian_prod(AXIS, AXIS)


def test_a_sheet_in_many_dimensions_is_whole_at_any_size_and_turn() -> None:
    turned = torch.linalg.qr(torch.randn(9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))[0][:2]
    assert neighbours(7 * PLACES @ turned + 3, PLACES, 1.0) == 1.0
    assert neighbours(PLACES @ turned, 2 * PLACES, 2.0) == 1.0


def test_places_put_at_random_have_the_neighbours_of_chance() -> None:
    order = torch.randperm(36, generator=torch.Generator().manual_seed(0))
    beside = ((PLACES[:, None] - PLACES).abs().amax(2) == 1).sum(1).double()  # 3 to 8
    chance = (beside / 35).mean().item()
    assert neighbours(PLACES[order], PLACES, 1.0) == pytest.approx(chance, abs=0.08)


def test_points_that_are_all_as_far_from_each_other_have_exactly_chance() -> None:
    """No order of the points decides a tie: narrow bumps in pixels are such points."""
    beside = ((PLACES[:, None] - PLACES).abs().amax(2) == 1).sum(1).double()
    assert neighbours(torch.eye(36), PLACES, 1.0) == pytest.approx((beside / 35).mean().item())
    world = BumpsWorld(pixels=8, pattern="bump", width=0.1)
    wide = BumpsWorld(pixels=8, pattern="bump", width=1.0)
    labels = world.centres()
    assert neighbours(world.render(labels), labels, 1.0) < 0.15
    assert neighbours(wide.render(labels), labels, 1.0) > 0.95


def test_joined_sides_are_neighbours() -> None:
    angle = 2 * torch.pi * PLACES / 6
    torus = torch.cat([angle.cos(), angle.sin()], 1)
    assert neighbours(torus, PLACES, 1.0, period=6.0) == 1.0
    assert neighbours(torus, PLACES, 1.0) < 0.9


def test_principal_coordinates_keep_the_distances_of_a_flat_sheet() -> None:
    turned = torch.linalg.qr(torch.randn(9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))[0][:2]
    sheet = PLACES * torch.tensor([1.0, 2.0])
    found = embed(sheet @ turned, "pca", 3)
    assert torch.allclose(torch.cdist(found, found), torch.cdist(sheet, sheet), atol=1e-6)
    assert found[:, 2].abs().max() < 1e-9
    assert (found.gather(0, found.abs().argmax(0, keepdim=True))[0, :2] > 0).all()
    assert embed(PLACES[:, :1], "pca", 3).shape == (36, 3)


def test_umap_that_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(UserError, match=r"recombine\[umap\]"):
        embed(PLACES, "umap", 2)


def test_umap_keeps_neighbours() -> None:
    pytest.importorskip("umap")
    found = embed(PLACES, "umap", 2, seed=1)
    assert found.shape == (36, 2)
    assert neighbours(found, PLACES, 1.0) > 0.6
    assert torch.equal(found, embed(PLACES, "umap", 2, seed=1))
