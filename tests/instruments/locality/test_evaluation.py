"""What is read of models of scenes, where the answer is known: patch networks, and denoisers made by hand."""

import pytest
import torch
from torch import Tensor

from recombine.denoisers.configs import ConditionConfig, LocalConfig, UNetConfig
from recombine.denoisers.local import LocalNetwork
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import EDMSchedule
from recombine.errors import UserError
from recombine.instruments.locality.evaluation import LocalityLook, locality_rows, own_views, read_locality
from recombine.instruments.locality.gradients import everywhere
from recombine.instruments.scenes.evaluation import layouts, prompts
from recombine.seeds import torch_seeded
from recombine.settings import build
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.world import SceneWorld

GRID, PIXELS = 8, 16
CELL = PIXELS // GRID
WORLD = SceneWorld(pixels=PIXELS, style="discs", grid=GRID)
LABELS = LabelConfig(grid=GRID)
LIST = LabelConfig(form="list", grid=GRID, slots=6)
LOOK = LocalityLook(prompts=4, levels=3, reach=1, gradients=2, local_gradients=2)
SAMPLER = SamplerConfig(steps=6)
CPU = torch.device("cpu")
NODES = [f"sigma={sigma:.4g}" for sigma in EDMSchedule().sigmas(6)[[1, 3, 5]]]


def network(labels: LabelConfig, local: bool) -> NetworkDenoiser:
    told = ConditionConfig(entry="add" if local else "joint", where="all", hidden=0, width=16, mode="add")
    inner = UNetConfig(channels=8, multipliers=(1,) if local else (1, 2), condition=told)
    with torch_seeded(0):
        if local:
            net: torch.nn.Module = LocalNetwork(LocalConfig(inner=inner, radius=1), WORLD.image_shape, labels)
        else:
            net = UNet(inner, WORLD.image_shape, (labels.width,))
        for value in net.parameters():  # a network that nobody trained answers 0 all over
            torch.nn.init.normal_(value, std=0.2)
    return NetworkDenoiser(net, "edm").eval().requires_grad_(False)


def read(model: NetworkDenoiser, labels: LabelConfig, look: LocalityLook = LOOK) -> dict[tuple[str, str], float]:
    rows = locality_rows(model, look, WORLD, labels, EDMSchedule(), SAMPLER, 0, CPU)
    return {(row["instrument"], row["node"]): row["value"] for row in rows}


@pytest.mark.parametrize("labels", [LABELS, LIST])
def test_a_patch_network_has_c_of_one_and_nothing_beyond_its_patch(labels: LabelConfig) -> None:
    found = read(network(labels, local=True), labels)
    for reading in ("removed", "moved", "gradient"):
        assert found[f"locality.conditions.{reading}.C", "all"] == pytest.approx(1, abs=1e-5)
        assert found[f"locality.conditions.{reading}.total", NODES[0]] > 1e-3
    assert found["locality.conditions.gradient.C", "all"] == 1
    assert found["locality.pixels.beyond", "all"] == 0
    assert found["locality.pixels.P4", "all"] == 1
    assert found["locality.pixels.P1", "all"] < 1
    assert found["locality.conditions.C.chance", "all"] < 0.6


@pytest.mark.parametrize("labels", [LABELS, LIST])
def test_a_plain_network_is_told_everything_everywhere(labels: LabelConfig) -> None:
    found = read(network(labels, local=False), labels)
    for reading, chance in (("removed", "C"), ("moved", "C"), ("gradient", "gradient.C")):
        mean = found[f"locality.conditions.{reading}.C", "all"]
        assert mean == pytest.approx(found[f"locality.conditions.{chance}.chance", "all"], abs=0.15)
    assert found["locality.pixels.beyond", "all"] > 0.01
    assert {node for _, node in found} == {"all", *NODES}


def test_pixels_lie_on_objects_and_x_is_the_trajectory() -> None:
    model = network(LABELS, local=False)
    views, asked = own_views(model.denoise, LOOK, WORLD, LABELS, EDMSchedule(), SAMPLER, 0, CPU)
    grid = EDMSchedule().sigmas(6)
    assert views.x.shape == (3, 4, 3, PIXELS, PIXELS)
    assert views.sigma.tolist() == pytest.approx(grid[1::2][:3].tolist())
    cells = views.pixels // CELL  # [n, 4, 2]
    assert views.condition is not None
    assert views.condition.gather(1, cells[..., 0] * GRID + cells[..., 1]).all()
    passed: list[Tensor] = []
    told, key, _, _ = prompts(WORLD, LABELS, 4, 4, 0)
    sample(model.denoise, SAMPLER, EDMSchedule(), WORLD.image_shape, told, key, lambda *step: passed.append(step[2]))
    assert torch.equal(views.x, torch.stack(passed[1::2]))
    places, present = layouts(WORLD, 4, 64, 0)
    known = {tuple(cell) for cell in LABELS.cells(places, PIXELS)[present].tolist()}
    assert {(int(column // CELL), int(row // CELL)) for row, column in asked.far.tolist()} <= known


@pytest.mark.parametrize("labels", [LABELS, LIST])
def test_conditions_that_act_on_their_own_cell_alone(labels: LabelConfig) -> None:
    """D is 1 in each labelled cell: C = 1 by removal, and P hears of its own pixel alone."""

    def denoise(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        assert condition is not None
        maps = condition
        if labels.form == "list":
            slots = condition.reshape(len(condition), -1, 3)
            column, row = labels.cells((slots[..., :2] + 1) / 2 * PIXELS, PIXELS).unbind(2)
            maps = x.new_zeros(len(x), GRID**2).scatter_add(1, row * GRID + column, slots[..., 2])
        maps = maps.reshape(-1, 1, GRID, GRID)
        return 0.1 * x + maps.repeat_interleave(CELL, 2).repeat_interleave(CELL, 3)

    views, asked = own_views(denoise, LOOK, WORLD, labels, EDMSchedule(), SAMPLER, 0, CPU)
    rows = read_locality(everywhere(denoise), LOOK, views, asked, CELL, 2, ("removed", "moved"))
    found = {(row["instrument"], row["node"]): row["value"] for row in rows}
    assert found["locality.conditions.removed.C", "all"] == found["locality.conditions.moved.C", "all"] == 1
    assert found["locality.conditions.removed.total", NODES[1]] == pytest.approx(3**0.5)  # of three colours
    assert found["locality.pixels.P1", "all"] == 1
    assert found["locality.pixels.half radius", "all"] == 0
    assert 0.05 < found["locality.pixels.P1.chance", "all"] <= 25 / PIXELS**2
    assert not any("gradient" in instrument for instrument, _ in found)


def test_patch_networks_have_gradients_of_fewer_prompts() -> None:
    model = network(LABELS, local=True)
    short = LOOK.replace(levels=1, prompts=2)
    few, more = (read(model, LABELS, short.replace(local_gradients=count)) for count in (1, 2))
    plain = read(model, LABELS, short.replace(gradients=1))
    assert few["locality.pixels.P1", "all"] != more["locality.pixels.P1", "all"]
    assert plain == more


def test_a_short_sampler_has_fewer_levels() -> None:
    rows = locality_rows(
        network(LABELS, False), LOOK, WORLD, LABELS, EDMSchedule(), SamplerConfig(steps=2), 0, CPU
    )  # fmt: skip
    assert len({row["node"] for row in rows}) == 3


def test_bad_settings_are_refused() -> None:
    with pytest.raises(UserError, match="reach"):
        build(LocalityLook, {"reach": -1})
