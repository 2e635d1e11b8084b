"""Machines beside models: a model that is the machine agrees with it to the last pixel, one that ignores labels not."""

import pytest
import torch
from torch import Tensor

from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule
from recombine.errors import UserError
from recombine.instruments.observation import Denoise
from recombine.instruments.scenes.evaluation import Sampling
from recombine.instruments.scenes.machine_evaluation import (
    MachineComparison,
    ReceptiveFields,
    as_grid,
    machine_rows,
    r_squared,
)
from recombine.instruments.scenes.object_finder import DiscFinder
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import SceneWorld

WORLD = SceneWorld(pixels=16, style="discs", grid=8)
LABELS = LabelConfig(labelled="one", grid=8)
SPLIT = SceneSplit(images=200)
COMPARISON = MachineComparison(
    images=100, receptive_fields=ReceptiveFields(radius=1, label_radius=1), counts=(1, 4), layouts=4,
    sampler=SamplerConfig(method="ddim", steps=6, eta=0.0),
)  # fmt: skip


def rows_of(
    denoise: Denoise, labels: LabelConfig = LABELS, how: MachineComparison = COMPARISON
) -> dict[tuple[int, str], float]:
    sampling = Sampling(denoise, SamplerConfig(), EDMSchedule(), WORLD, labels, 3, torch.device("cpu"))
    rows = machine_rows(sampling, how, SPLIT, DiscFinder(WORLD), 3)
    return {(row["labels"], row["instrument"].removeprefix("machine.")): row["value"] for row in rows}


def local_machine(images: int = 100, fields: ReceptiveFields = COMPARISON.receptive_fields) -> Denoise:
    """The machine of the first images of the training set."""
    known = SPLIT.pool(WORLD, LABELS, 3)
    return fields.machine(known.images[:images], known.conditions[:images], WORLD.grid).denoise


def test_a_model_that_is_the_local_machine_is_explained_by_it_alone() -> None:
    found = rows_of(local_machine())
    for labels in (1, 4):
        assert found[labels, "local.r2"] == pytest.approx(1, abs=1e-6)
        assert found[labels, "local.agree"] == 1
        assert found[labels, "local.recall"] == found[labels, "network.recall"]
        assert found[labels, "local.r2.shuffled"] < 0.5
    assert found[4, "global.r2"] < 0.9
    assert found[1, "local.r2.noise"] < 0.9
    assert found[4, "network.recall"] > found[4, "global.recall"]
    assert found[4, "global.agree"] < 1
    alone = found[4, "network.recall"], found[4, "global.recall"]
    assert found[4, "global.agree.chance"] == pytest.approx(alone[0] * alone[1] + (1 - alone[0]) * (1 - alone[1]))


def test_a_model_that_is_the_global_machine_is_explained_by_that_one() -> None:
    found = rows_of(local_machine(fields=ReceptiveFields(radius=8, label_radius=8)))
    assert found[4, "global.r2"] == pytest.approx(1, abs=1e-6)
    assert found[4, "global.agree"] == 1
    assert found[4, "local.r2"] < 0.9


def test_images_that_the_machine_does_not_know_change_the_answer() -> None:
    assert rows_of(local_machine(images=200))[4, "local.r2"] < 1 - 1e-4


def test_a_model_that_draws_nothing_has_no_variance_to_explain() -> None:
    def white(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        return torch.ones_like(x)

    found = rows_of(white)
    assert found[4, "local.r2"] is None
    assert found[4, "network.recall"] == 0
    assert found[4, "local.agree"] == pytest.approx(1 - found[4, "local.recall"])


def test_where_no_training_image_agrees_is_counted() -> None:
    found = rows_of(local_machine())
    assert found[4, "global.tied"] == 1  # no image has four labels
    assert 0 < found[4, "local.tied"] < 1
    assert found[1, "local.tied"] < found[4, "local.tied"]


def test_a_model_with_a_list_is_compared_with_machines_with_a_grid() -> None:
    listed = LabelConfig(form="list", labelled="one", grid=8)
    machine, shapes = local_machine(), []

    def model(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        assert condition is not None
        shapes.append(condition.shape[1])
        slots = condition.reshape(len(x), -1, 3)
        cells = ((slots[..., :2] + 1) / 2 * 8).floor().long().clamp(0, 7)
        grid = torch.zeros(len(x), 64).scatter_reduce_(1, cells[..., 1] * 8 + cells[..., 0], slots[..., 2], "amax")
        return machine(x, sigma, grid)

    assert rows_of(model, listed)[4, "local.r2"] == pytest.approx(1, abs=1e-6)
    assert set(shapes) == {listed.width}
    assert as_grid(listed) == LABELS


def test_receptive_fields_by_noise_are_those_of_the_network() -> None:
    by_noise = [{"above": 0.0, "radius": 1, "label_radius": 1}, {"above": 0.5, "radius": 2, "label_radius": 8}]
    known = SPLIT.pool(WORLD, LABELS, 3)
    x = torch.full((1, *WORLD.image_shape), 0.3)
    for sigma, fields in ((0.4, (1, 1)), (0.6, (2, 8))):
        split = ReceptiveFields(radius=2, label_radius=8, by_noise=by_noise).machine(known.images, known.conditions, 8)
        plain = ReceptiveFields(radius=fields[0], label_radius=fields[1]).machine(known.images, known.conditions, 8)
        at = torch.tensor([sigma])
        assert torch.equal(split.denoise(x, at, known.conditions[:1]), plain.denoise(x, at, known.conditions[:1]))


def test_r2_is_one_for_the_same_zero_for_the_mean_and_below_for_worse() -> None:
    truth = torch.tensor([[0.0, 1.0], [2.0, 3.0]]).expand(3, 1, 2, 2)
    guess = torch.stack([truth[0], torch.full((1, 2, 2), 1.5), 3 - truth[0]])
    assert r_squared(truth, guess).tolist() == pytest.approx([1, 0, -3])
    assert r_squared(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 2, 2)).isnan().all()


def test_noise_that_is_drawn_on_the_way_and_too_many_objects_are_refused() -> None:
    for sampler in ({"method": "ddim", "eta": 1.0}, {"method": "ancestral"}):
        with pytest.raises(UserError, match="same noise"):
            COMPARISON.replace(sampler=sampler)
    with pytest.raises(UserError, match="raise world"):
        rows_of(local_machine(), how=COMPARISON.replace(counts=(13,)))
