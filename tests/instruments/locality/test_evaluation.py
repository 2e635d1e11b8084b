"""What is measured of models of scenes, where the answer is known: patch networks, and denoisers made by hand."""

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
from recombine.instruments.locality.evaluation import LocalityProbe, locality_rows, measure_locality, own_views
from recombine.instruments.locality.gradients import everywhere
from recombine.instruments.observation import Denoise, Row
from recombine.instruments.scenes.evaluation import Sampling, layouts, prompts
from recombine.seeds import torch_seeded
from recombine.settings import build
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.world import SceneWorld

GRID, PIXELS = 8, 16
CELL = PIXELS // GRID
WORLD = SceneWorld(pixels=PIXELS, style="discs", grid=GRID)
LABELS = LabelConfig(grid=GRID)
LIST = LabelConfig(form="list", grid=GRID, slots=6)
PROBE = LocalityProbe(prompts=4, levels=3, reach=1, gradients=2, local_gradients=2)
SAMPLER = SamplerConfig(steps=6)
CPU = torch.device("cpu")
LEVELS = [float(torch.tensor(s, dtype=torch.float32)) for s in EDMSchedule().sigmas(6)[[1, 3, 5]].tolist()]
Found = dict[tuple[str, float | None, int | None], float]


def network(labels: LabelConfig, local: bool) -> NetworkDenoiser:
    entry = ConditionConfig(entry="add" if local else "joint", where="all", hidden=0, width=16, mode="add")
    inner = UNetConfig(channels=8, multipliers=(1,) if local else (1, 2), condition=entry)
    with torch_seeded(0):
        if local:
            net: torch.nn.Module = LocalNetwork(LocalConfig(inner=inner, radius=1), WORLD.image_shape, labels)
        else:
            net = UNet(inner, WORLD.image_shape, (labels.width,))
        for value in net.parameters():  # an untrained network answers 0 all over
            torch.nn.init.normal_(value, std=0.2)
    return NetworkDenoiser(net, "edm").eval().requires_grad_(False)


def sampling(denoise: Denoise, labels: LabelConfig, sampler: SamplerConfig = SAMPLER) -> Sampling:
    return Sampling(denoise, sampler, EDMSchedule(), WORLD, labels, 0, CPU)


def read(model: NetworkDenoiser, labels: LabelConfig, probe: LocalityProbe = PROBE) -> Found:
    return by_name(locality_rows(model, probe, sampling(model.denoise, labels)))


def by_name(rows: list[Row]) -> Found:
    return {
        (row["instrument"].removeprefix("locality."), row["sigma"], row.get("radius")): row["value"] for row in rows
    }


@pytest.mark.parametrize("labels", [LABELS, LIST])
def test_a_patch_network_has_c_of_one_and_nothing_beyond_its_patch(labels: LabelConfig) -> None:
    found = read(network(labels, local=True), labels)
    for way in ("removed", "moved", "gradient"):
        assert found[f"conditions.{way}.C", None, None] == pytest.approx(1, abs=1e-5)
        assert found[f"conditions.{way}.total", LEVELS[0], None] > 1e-3
    assert found["conditions.gradient.C", None, None] == 1
    assert found["pixels.beyond", None, None] == 0
    assert found["pixels.P", None, 4] == 1
    assert found["pixels.P", None, 1] < 1
    assert found["conditions.C.chance", None, None] < 0.6


@pytest.mark.parametrize("labels", [LABELS, LIST])
def test_a_plain_network_depends_on_every_label_everywhere(labels: LabelConfig) -> None:
    found = read(network(labels, local=False), labels)
    for way, chance in (("removed", "C"), ("moved", "C"), ("gradient", "gradient.C")):
        mean = found[f"conditions.{way}.C", None, None]
        assert mean == pytest.approx(found[f"conditions.{chance}.chance", None, None], abs=0.15)
    assert found["pixels.beyond", None, None] > 0.01
    assert {sigma for _, sigma, _ in found} == {None, *LEVELS}


def test_pixels_lie_on_objects_and_x_is_the_trajectory() -> None:
    model = network(LABELS, local=False)
    views, asked = own_views(PROBE, sampling(model.denoise, LABELS))
    grid = EDMSchedule().sigmas(6)
    assert views.x.shape == (3, 4, 3, PIXELS, PIXELS)
    assert views.sigma.tolist() == pytest.approx(grid[1::2][:3].tolist())
    cells = views.pixels // CELL  # [n, 4, 2]
    assert views.condition is not None
    assert views.condition.gather(1, cells[..., 0] * GRID + cells[..., 1]).all()
    passed: list[Tensor] = []
    condition, key, _, _ = prompts(WORLD, LABELS, 4, 4, 0)
    sample(model.denoise, SAMPLER, EDMSchedule(), WORLD.image_shape, condition, key, lambda *at: passed.append(at[2]))
    assert torch.equal(views.x, torch.stack(passed[1::2]))
    places, present = layouts(WORLD, 4, 64, 0)
    known = {tuple(cell) for cell in LABELS.cells(places, PIXELS)[present].tolist()}
    assert {(int(column // CELL), int(row // CELL)) for row, column in asked.far.tolist()} <= known


@pytest.mark.parametrize("labels", [LABELS, LIST])
def test_conditions_that_act_on_their_own_cell_alone(labels: LabelConfig) -> None:
    """D is 1 in each labelled cell: C = 1 by removal, and P is all at the pixel itself."""

    def denoise(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        assert condition is not None
        maps = condition
        if labels.form == "list":
            slots = condition.reshape(len(condition), -1, 3)
            column, row = labels.cells((slots[..., :2] + 1) / 2 * PIXELS, PIXELS).unbind(2)
            maps = x.new_zeros(len(x), GRID**2).scatter_add(1, row * GRID + column, slots[..., 2])
        maps = maps.reshape(-1, 1, GRID, GRID)
        return 0.1 * x + maps.repeat_interleave(CELL, 2).repeat_interleave(CELL, 3)

    views, asked = own_views(PROBE, sampling(denoise, labels))
    found = by_name(measure_locality(everywhere(denoise), PROBE, views, asked, CELL, 2, ("removed", "moved")))
    assert found["conditions.removed.C", None, None] == found["conditions.moved.C", None, None] == 1
    assert found["conditions.removed.total", LEVELS[1], None] == pytest.approx(3**0.5)  # of three colours
    assert found["pixels.P", None, 1] == 1
    assert found["pixels.half radius", None, None] == 0
    assert 0.05 < found["pixels.P.chance", None, 1] <= 25 / PIXELS**2
    assert not any("gradient" in instrument for instrument, _, _ in found)


def test_patch_networks_have_gradients_of_fewer_prompts() -> None:
    model = network(LABELS, local=True)
    short = PROBE.replace(levels=1, prompts=2)
    few, more = (read(model, LABELS, short.replace(local_gradients=count)) for count in (1, 2))
    plain = read(model, LABELS, short.replace(gradients=1))
    assert few["pixels.P", None, 1] != more["pixels.P", None, 1]
    assert plain == more


def test_a_short_sampler_has_fewer_levels() -> None:
    model = network(LABELS, False)
    rows = locality_rows(model, PROBE, sampling(model.denoise, LABELS, SamplerConfig(steps=2)))
    assert len({row["sigma"] for row in rows}) == 3


def test_bad_settings_are_refused() -> None:
    with pytest.raises(UserError, match="reach"):
        build(LocalityProbe, {"reach": -1})
