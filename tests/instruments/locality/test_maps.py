"""Maps of one pixel, where the answer is known: a blur that depends on labels near it, or on all."""

import pytest
import torch
from torch import Tensor

from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule
from recombine.instruments.locality.maps import PixelMap, pixel_map
from recombine.instruments.observation import Denoise
from recombine.instruments.scenes.evaluation import Sampling
from recombine.worlds.scenes.labels import SLOT, LabelConfig
from recombine.worlds.scenes.world import SceneWorld

GRID, PIXELS = 8, 16
CELL = PIXELS // GRID
WORLD = SceneWorld(pixels=PIXELS, style="discs", grid=GRID)
LABELS = LabelConfig(grid=GRID)
LIST = LabelConfig(form="list", grid=GRID, slots=6)


def blur(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
    """The mean of 3 x 3 pixels; every pixel of a labelled cell gets brighter by 1."""
    assert condition is not None
    grid = condition if condition.shape[1] == GRID**2 else LABELS.encode(
        *_of_list(condition), PIXELS, torch.zeros(len(x), dtype=torch.int64)
    )  # fmt: skip
    label = grid.reshape(-1, 1, GRID, GRID).repeat_interleave(CELL, 2).repeat_interleave(CELL, 3)
    return torch.nn.functional.avg_pool2d(x, 3, stride=1, padding=1) + label


def everywhere(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
    """The mean of all pixels, brighter by 1 for every label."""
    assert condition is not None
    return x.mean((2, 3), keepdim=True).expand_as(x) + condition.sum(1)[:, None, None, None]


def _of_list(condition: Tensor) -> tuple[Tensor, Tensor]:
    slots = condition.reshape(len(condition), -1, SLOT)
    return (slots[..., :2] + 1) / 2 * PIXELS, slots[..., 2] > 0


def read(denoise: Denoise, labels: LabelConfig) -> PixelMap:
    cpu = torch.device("cpu")
    sampling = Sampling(denoise, SamplerConfig(steps=4), EDMSchedule(), WORLD, labels, 0, cpu)
    return pixel_map(sampling, count=3, levels=2, draws=2)


@pytest.mark.parametrize("labels", [LABELS, LIST])
def test_a_local_answer_has_a_small_map_and_depends_on_its_own_label(labels: LabelConfig) -> None:
    found = read(blur, labels)
    row, column = found.pixel.tolist()
    window = found.heat[:, max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
    assert window.sum().item() == pytest.approx(found.heat.sum().item())
    assert (window > 0).all()
    assert found.heat.shape == (2, PIXELS, PIXELS)
    assert torch.allclose(found.influence[:, 0], torch.full((2,), 3**0.5, dtype=torch.float64), atol=1e-5)
    assert found.influence[:, 1:].abs().max() < 1e-6


def test_a_global_answer_depends_on_all_pixels_and_labels_alike() -> None:
    found = read(everywhere, LABELS)
    assert found.heat.std() < 1e-6
    assert torch.allclose(found.influence, torch.full((2, 3), 3**0.5, dtype=torch.float64), atol=1e-5)


def test_the_pixel_is_at_the_label_low_and_left_and_layouts_are_shared() -> None:
    grid, listed = read(blur, LABELS), read(blur, LIST)
    assert torch.equal(grid.places, listed.places)
    assert (grid.places[:, 0] - grid.places[:, 1]).argmin() == 0
    assert grid.pixel.tolist() == [int(grid.places[0, 1]), int(grid.places[0, 0])]
    assert grid.drawn.shape == WORLD.image_shape
