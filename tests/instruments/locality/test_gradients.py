"""Locality is read off denoisers whose Jacobian, field or dependence on a condition is known."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.exact import MixtureDenoiser
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.errors import UserError
from recombine.instruments.locality import gradients as locality
from recombine.instruments.locality.gradients import (
    ConditionalLocality,
    PixelLocality,
    Views,
    everywhere,
)
from recombine.instruments.locality.prompts import Prompts, grid_prompts, list_prompts
from recombine.seeds import torch_seeded

GRID, SIDE = 4, 8  # cells of 2 x 2 pixels


def heat_maps(denoise: Callable[..., Tensor], *rest: Any) -> Tensor:
    """Of a denoiser that answers whole images, as those of these tests do."""
    return locality.heat_maps(everywhere(denoise), *rest)


def pixel_locality(denoise: Callable[..., Tensor], *rest: Any, **options: Any) -> PixelLocality:
    return locality.pixel_locality(everywhere(denoise), *rest, **options)


def conditional_locality(denoise: Callable[..., Tensor], *rest: Any, **options: Any) -> ConditionalLocality:
    return locality.conditional_locality(everywhere(denoise), *rest, **options)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def views(
    pixels: list[list[int]], condition: Tensor | None = None, shape=(3, SIDE, SIDE), sigmas=(0.3, 2.0), images=2
) -> Views:
    """Noise at some levels; the same pixels in every image."""
    images = images if condition is None else len(condition)
    sigma = torch.tensor(sigmas, dtype=torch.float64)
    at = torch.tensor(pixels).expand(images, -1, -1)
    return Views(normal(len(sigma), images, *shape), sigma, condition, at)


def gaussian(covariance: Tensor, shape: tuple[int, ...]) -> Callable[..., Tensor]:
    """The posterior mean of N(1, covariance): its Jacobian is covariance (covariance + sigma^2)^-1."""

    def denoise(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        return torch.stack([
            (1 + jacobian(covariance, level) @ (image.reshape(-1) - 1)).reshape(shape)
            for image, level in zip(x, sigma, strict=True)
        ])  # fmt: skip

    return denoise


def jacobian(covariance: Tensor, sigma: Tensor) -> Tensor:
    return covariance @ torch.linalg.inv(covariance + sigma**2 * torch.eye(len(covariance)).double())


def test_the_heat_map_of_a_gaussian_is_its_known_jacobian() -> None:
    shape = (2, 4, 3)
    root = normal(24, 24)
    covariance = root @ root.T / 24
    where = views([[0, 0], [2, 1], [3, 2]], shape=shape, images=3)
    found = heat_maps(gaussian(covariance, shape), where)
    for level, sigma in enumerate(where.sigma):
        whole = jacobian(covariance, sigma).reshape(*shape, *shape).abs().sum((0, 3))  # [H, W, H, W]
        for i, (row, column) in enumerate(where.pixels[0].tolist()):
            assert torch.allclose(found[i, level], whole[row, column].float(), atol=1e-6)


def test_blocks_that_know_nothing_of_each_other_have_no_gradient_outside() -> None:
    """Columns 0 to 3 and 4 to 7 are two blocks: all of a block is within 2 of the pixels taken, not within 1."""
    shape = (1, 4, 8)
    block = (torch.arange(32) % 8 >= 4).double()
    root = normal(32, 32)
    covariance = (root @ root.T) * (block[:, None] == block)
    where = views([[1, 1], [1, 6]], shape=shape)
    maps, found = (read(gaussian(covariance, shape), where) for read in (heat_maps, pixel_locality))
    assert maps[0, :, :, 4:].abs().max() < 1e-12
    assert maps[1, :, :, :4].abs().max() < 1e-12
    assert torch.allclose(found.within([2]), torch.ones(2, 2, 1).double())
    assert (found.within([1]) < 0.999).all()


def test_exact_mixtures_are_read_as_autograd_reads_them() -> None:
    mixture = MixtureDenoiser(normal(3, 1, 4, 4), torch.tensor([0.1, 0.2, 0.3]))
    where = views([[1, 2], [3, 3]], shape=(1, 4, 4), images=1, sigmas=(0.7,))
    whole = torch.autograd.functional.jacobian(
        lambda x: mixture.denoise(x, where.sigma), where.x[0]
    ).reshape(4, 4, 4, 4)  # fmt: skip
    expected = torch.stack([whole[1, 2], whole[3, 3]]).abs().float()
    assert torch.allclose(heat_maps(mixture.denoise, where)[:, 0], expected, atol=1e-6)


def test_outside_of_the_field_of_two_convolutions_there_is_exactly_nothing() -> None:
    with torch_seeded(0):
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Tanh(), torch.nn.Conv2d(4, 3, 3, padding=1)
        ).double()
    found = pixel_locality(lambda x, sigma, condition: net(x), views([[0, 0], [4, 5]]))
    assert (found.mass[..., 3:] == 0).all()
    assert (found.mass[..., :3] > 0).all()
    assert (found.within([2, 7, 99]) == 1).all()


def unet() -> NetworkDenoiser:
    with torch_seeded(0):
        net = UNet(UNetConfig(channels=8, multipliers=(1, 2), attention=(1,)), (3, SIDE, SIDE), (GRID**2,))
    return NetworkDenoiser(net, "edm").double().eval()


@pytest.mark.parametrize("batch", [1, 4, 5, 12, 1000, None])
def test_a_network_gives_the_numbers_of_one_backward_pass_a_pixel_and_colour(batch: int | None) -> None:
    model, label = unet(), (normal(3, GRID**2, seed=1) > 1).double()
    pixels = torch.tensor([[[0, 0], [5, 2]], [[1, 7], [3, 3]], [[7, 7], [4, 0]]])
    where = Views(normal(2, 3, 3, SIDE, SIDE), torch.tensor([0.2, 3.0]).double(), label, pixels)
    found = pixel_locality(model.denoise, where, batch)
    for level in range(2):
        for place in range(2):
            total = torch.zeros(SIDE).double()
            for image in range(3):
                x = where.x[level, image : image + 1].clone().requires_grad_()
                said = model.denoise(x, where.sigma[level : level + 1], label[image : image + 1])
                row, column = pixels[image, place].tolist()
                for colour in range(3):
                    (slope,) = torch.autograd.grad(said[0, colour, row, column], x, retain_graph=True)
                    for i in range(SIDE):
                        for j in range(SIDE):
                            total[max(abs(i - row), abs(j - column))] += slope[0, :, i, j].abs().sum() / 3
            assert torch.allclose(found.mass[level, place], total, rtol=1e-9, atol=0)


def test_an_answer_from_one_pixel_and_an_answer_from_all_of_them() -> None:
    where = views([[0, 0], [4, 4]])
    itself = pixel_locality(lambda x, sigma, condition: 0.5 * x, where)
    assert (itself.within([0, 1]) == 1).all()
    assert (itself.half_radius() == 0).all()
    everything = pixel_locality(lambda x, sigma, condition: x.mean((1, 2, 3), keepdim=True).expand_as(x), where)
    assert everything.within([0, 1, 2, 7])[0].tolist() == [
        pytest.approx([1 / 64, 4 / 64, 9 / 64, 1]), pytest.approx([1 / 64, 9 / 64, 25 / 64, 1])
    ]  # fmt: skip
    assert everything.half_radius().tolist() == [[5, 3]] * 2  # 36 of 64 pixels from a corner, 49 from the middle


def test_the_mass_that_a_level_has_is_known_and_levels_stay_separate() -> None:
    """D = x + sigma * (the pixel to the right): masses 1 and sigma."""
    where = views([[3, 3]], shape=(1, SIDE, SIDE))
    found = pixel_locality(lambda x, sigma, c: x + sigma[:, None, None, None] * x.roll(-1, 3), where)
    assert found.mass[:, 0, :3].tolist() == [pytest.approx([1, 0.3, 0]), pytest.approx([1, 2, 0])]
    rows = [(row["instrument"], row["sigma"], row.get("radius"), row["value"]) for row in found.rows([0])]
    assert [row[:3] for row in rows] == [
        ("pixels.P", pytest.approx(0.3), 0), ("pixels.P", 2, 0), ("pixels.P", None, 0),
        ("pixels.half radius", pytest.approx(0.3), None), ("pixels.half radius", 2, None),
        ("pixels.half radius", None, None),
    ]  # fmt: skip
    assert [row[3] for row in rows] == pytest.approx([1 / 1.3, 1 / 3, (1 / 1.3 + 1 / 3) / 2, 0, 1, 0.5])


def test_an_answer_that_depends_on_no_pixel_has_no_locality() -> None:
    found = pixel_locality(lambda x, sigma, condition: 0 * x, views([[1, 1]]))
    assert found.within([3]).isnan().all()
    assert all(row["value"] is None for row in found.rows([1, 3]))


# Conditions: four of them, in the cells (row, column) below.
CELLS = [(0, 0), (0, 2), (2, 0), (2, 2)]
PAINT = torch.tensor([1.0, 2.0, 2.0]).double()  # of length 3


def labels(images: int = 2) -> Tensor:
    label = torch.zeros(images, GRID, GRID).double()
    for row, column in CELLS:
        label[:, row, column] = 1
    return label.flatten(1)


def painted(condition: Tensor) -> Tensor:
    """Every labelled cell in PAINT.  # [n, 3, H, W]"""
    cells = condition.reshape(-1, 1, GRID, GRID).repeat_interleave(2, 2).repeat_interleave(2, 3)
    return cells * PAINT[:, None, None]


def spread(condition: Tensor) -> Tensor:
    """Every pixel depends on all labels alike.  # [n, 3, H, W]"""
    return (condition.sum(1)[:, None] * PAINT)[..., None, None].expand(-1, -1, SIDE, SIDE)


AT_CONDITIONS = [[2 * row, 2 * column + 1] for row, column in CELLS]


def test_a_condition_that_paints_its_own_cell_is_wholly_local() -> None:
    where, prompts = views(AT_CONDITIONS, labels()), grid_prompts(labels(), GRID, SIDE)
    found = conditional_locality(lambda x, sigma, label: x + painted(label), where, prompts, radius=1.0)
    for way in ("removed", "moved", "gradient"):
        assert found.share(way).tolist() == [1, 1]
        assert float(found.overall(way)) == 1
    assert found.total("removed").tolist() == pytest.approx([3, 3])  # |PAINT|
    assert found.total("gradient").tolist() == pytest.approx([5, 5])  # its sum over colours
    assert float(found.chance()) == 0.25
    assert torch.equal(found.influence["removed"][0, 0] > 0, torch.eye(4).bool())


def test_conditions_that_act_on_all_pixels_alike_are_at_chance() -> None:
    where, prompts = views(AT_CONDITIONS, labels()), grid_prompts(labels(), GRID, SIDE)
    found = conditional_locality(lambda x, sigma, label: x + spread(label), where, prompts, radius=1.0)
    for way in ("removed", "gradient"):
        assert found.share(way).tolist() == pytest.approx([0.25, 0.25])
    assert found.total("removed").tolist() == pytest.approx([12, 12])
    assert found.total("moved").tolist() == [0, 0]  # such a denoiser does not depend on where a condition is
    assert found.share("moved").isnan().all()
    rows = {(row["sigma"], row["instrument"]): row["value"] for row in found.rows()}
    assert rows[None, "conditions.removed.C"] == pytest.approx(0.25) == rows[None, "conditions.C.chance"]
    assert rows[None, "conditions.moved.C"] is None
    assert rows[2.0, "conditions.moved.total"] == 0
    assert (None, "conditions.moved.total") not in rows


def test_noise_levels_count_by_their_influence_and_not_below_the_floor() -> None:
    """Local with weight 3 at the first level, at chance with weight 1 at the second, rounding at the third."""

    def denoise(x: Tensor, sigma: Tensor, label: Tensor) -> Tensor:
        first, second, third = ((sigma == level).double()[:, None, None, None] for level in (1, 2, 3))
        return x + 3 * first * painted(label) + second * spread(label) + 1e-7 * third * spread(label)

    where = views(AT_CONDITIONS, labels(), sigmas=(1, 2, 3))
    found = conditional_locality(denoise, where, grid_prompts(labels(), GRID, SIDE), 1.0, ways=["removed"])
    assert found.total("removed").tolist() == pytest.approx([9, 12, 1.2e-6])
    share = found.share("removed").tolist()
    assert share[:2] == pytest.approx([1, 0.25])
    assert math.isnan(share[2])
    assert float(found.overall("removed")) == pytest.approx((9 * 1 + 12 * 0.25) / 21)
    assert found.share("removed", floor=0)[2] == pytest.approx(0.25)


def test_grid_labels_take_conditions_out_one_by_one_and_put_them_far_from_all() -> None:
    label = torch.zeros(2, GRID**2)
    label[0, [0, 5]] = 1
    label[1, 15] = 1
    prompts = grid_prompts(label, GRID, SIDE)
    assert prompts.present.tolist() == [[True, True], [True, False]]
    assert prompts.places[0].tolist() == [[0.5, 0.5], [2.5, 2.5]]
    assert [row.nonzero().flatten().tolist() for row in prompts.removed[0]] == [[5], [0]]
    assert prompts.removed[1, 0].sum() == 0
    assert [row.nonzero().flatten().tolist() for row in prompts.moved[0]] == [
        [3, 5],
        [0, 3],
    ]  # the first of the farthest
    assert prompts.far.tolist() == [[0.5, 6.5], [0.5, 0.5]]
    assert prompts.entries[0].nonzero().tolist() == [[0, 0], [1, 5]]
    allowed = torch.arange(GRID**2) == 9
    assert grid_prompts(label, GRID, SIDE, allowed).far.tolist() == [[4.5, 2.5]] * 2


def test_where_a_condition_is_moved_close_to_a_pixel_there_is_no_reading() -> None:
    label = torch.zeros(1, GRID**2).double()
    label[0, 0] = 1  # moves to cell 3, at row 0.5, column 6.5
    where = views([[0, 0], [1, 6]], label)
    found = conditional_locality(
        lambda x, sigma, label: x + painted(label), where, grid_prompts(label, GRID, SIDE), 1.0
    )
    assert found.influence["moved"].isnan()[0, 0].tolist() == [[False], [True]]
    assert not found.influence["removed"].isnan().any()
    assert found.share("moved").tolist() == [1, 1]


def as_list(images: int = 2, slots: int = 6) -> Tensor:
    """The same conditions as slots of (row, column, 1), in the last slots but one; empty ones are (0, 0, 0)."""
    entry = torch.zeros(images, slots, 3).double()
    entry[:, 1:5] = torch.tensor([[row, column, 1] for row, column in CELLS])
    return entry.flatten(1)


def from_list(condition: Tensor) -> Tensor:
    """A list as a grid, differentiably in whether a slot is filled."""
    slots = condition.reshape(len(condition), -1, 3)
    index = (slots[..., 0] * GRID + slots[..., 1]).round().long()
    return condition.new_zeros(len(condition), GRID**2).scatter_add(1, index.detach(), slots[..., 2])


def list_of(condition: Tensor) -> Prompts:
    offered = torch.tensor([[row, column, 1.0] for row in range(GRID) for column in range(GRID)])
    return list_prompts(condition, torch.zeros(3), lambda slot: 2 * slot[..., :2] + 0.5, offered)


def test_a_list_is_read_as_the_grid_that_says_the_same() -> None:
    answers = []
    for act in (painted, spread):
        on_grid = conditional_locality(
            lambda x, sigma, label, act=act: x + act(label), views(AT_CONDITIONS, labels()),
            grid_prompts(labels(), GRID, SIDE), 1.0,
        )  # fmt: skip
        on_list = conditional_locality(
            lambda x, sigma, label, act=act: x + act(from_list(label)), views(AT_CONDITIONS, as_list()),
            list_of(as_list()), 1.0,
        )  # fmt: skip
        for way in ("removed", "moved", "gradient"):
            assert torch.allclose(on_list.influence[way][..., 1:5], on_grid.influence[way])
            assert (on_list.influence[way][..., [0, 5]] == 0).all()  # empty slots
        assert on_list.chance() == on_grid.chance() == 0.25
        answers.append(float(on_list.overall("removed")))
    assert answers == pytest.approx([1, 0.25])


def test_batches_do_not_matter_to_conditions() -> None:
    model, label = unet(), labels(3)
    where, prompts = views(AT_CONDITIONS, label), grid_prompts(label, GRID, SIDE)
    one, many = (conditional_locality(model.denoise, where, prompts, 1.0, batch=batch) for batch in (1, 500))
    for way in ("removed", "moved", "gradient"):
        assert torch.allclose(one.influence[way], many.influence[way], rtol=1e-9, equal_nan=True)
        assert one.total(way).min() > 0


def test_a_denoiser_that_does_not_hear_conditions_has_no_gradient_to_them() -> None:
    with torch_seeded(0):
        deaf = torch.nn.Conv2d(3, 3, 1).double()
    where, prompts = views(AT_CONDITIONS, labels()), grid_prompts(labels(), GRID, SIDE)
    found = conditional_locality(lambda x, sigma, label: deaf(x), where, prompts, 1.0)
    assert all((found.total(way) == 0).all() for way in found.influence)
    assert all(found.overall(way).isnan() for way in found.influence)


def silent(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
    with torch.no_grad():
        return x.clone()


BAD = {
    "outside of the image: rows are 0 to 7": lambda: views([[0, 8]]),
    "no whole rows and columns": lambda: views([[0.5, 1]]),  # type: ignore[list-item]
    "1 conditions for 2 images": lambda: Views(
        normal(1, 2, 3, 4, 4), torch.ones(1), torch.ones(1, 4), torch.zeros(2, 1, 2).long()
    ),
    "at 2 noise levels": lambda: Views(normal(1, 2, 3, 4, 4), torch.ones(2), None, torch.zeros(2, 1, 2).long()),
    "this denoiser has no gradient": lambda: pixel_locality(silent, views([[0, 0]])),
    "a radius is 0 or more": lambda: pixel_locality(lambda x, s, c: x, views([[0, 0]])).within([-1]),
    "batch = 0": lambda: pixel_locality(lambda x, s, c: x, views([[0, 0]]), batch=0),
    "give all images the same pixels": lambda: heat_maps(
        silent, Views(normal(1, 2, 3, 4, 4), torch.ones(1), None, torch.tensor([[[0, 0]], [[1, 1]]]))
    ),
    "are no grids of 5 x 5 cells": lambda: grid_prompts(labels(), 5, SIDE),
    "no slots of 4 numbers": lambda: list_prompts(as_list(), torch.zeros(4), lambda slot: slot, torch.zeros(1, 3)),
    "hold no condition": lambda: grid_prompts(torch.zeros(2, 16), GRID, SIDE),
    "leaves no place": lambda: grid_prompts(torch.ones(2, 16), GRID, SIDE),
    "give some of": lambda: conditional_locality(
        silent, views([[0, 0]], labels()), grid_prompts(labels(), GRID, SIDE), 1.0, ["wrong"]
    ),
    "of the same labels": lambda: conditional_locality(
        silent, views([[0, 0]]), grid_prompts(labels(), GRID, SIDE), 1.0
    ),
}


@pytest.mark.parametrize("complaint", BAD)
def test_bad_input_gets_one_line(complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as caught:
        BAD[complaint]()
    assert "\n" not in str(caught.value)
