"""Probes are exact where a linear map is, at chance where there is nothing to learn, and honest about blanks."""

import pytest
import torch

from recombine.instruments.shapes.probes import WEIGHT_DECAY, calibrate, fit, train_probes
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import real_images
from support.tables import short

WORLD = ShapesWorld(pixels=16, position_jitter=0.05)


@pytest.fixture(scope="module")
def probes():
    return train_probes(WORLD, 60, 0)


def test_exact_on_separable_data():
    """Pixel 0 carries the first concept, pixel 1 the second with three values, the rest is noise."""
    generator = torch.Generator().manual_seed(0)
    digits = torch.stack([torch.arange(300) % 2, torch.arange(300) % 3], 1)
    images = 0.1 * torch.randn(300, 3, 4, 4, generator=generator)
    images[:, 0, 0, 0] = 2.0 * digits[:, 0] - 1
    images[:, 0, 0, 1] = (digits[:, 1] == 1).float() - (digits[:, 1] == 2).float()
    probes = fit(images, digits, {"a": ("no", "yes"), "b": ("x", "y", "z")})
    assert torch.equal(probes.answers(images), digits)
    chances = probes.probabilities(images)
    assert chances["b"].shape == (300, 3)
    assert torch.allclose(chances["b"].sum(1), torch.ones(300))


def test_at_chance_on_shuffled_labels():
    images, digits = real_images(WORLD, WORLD.nodes, 100, 0, "shuffled")
    order = torch.randperm(800, generator=torch.Generator().manual_seed(0))
    probes = fit(images, digits[order], WORLD.concepts)
    fresh, truth = real_images(WORLD, WORLD.nodes, 100, 1, "shuffled")
    assert ((probes.answers(fresh) == truth).double().mean(0) - 0.5).abs().max() < 0.15


def test_minimum_is_where_the_gradient_vanishes(probes):
    """Independent of the optimiser: gradient of mean cross-entropy plus weight decay, in closed form."""
    images, digits = real_images(WORLD, WORLD.nodes, 60, 0, "probes")
    pixels = images.flatten(1)
    errors = [
        chance - torch.nn.functional.one_hot(digits[:, i], 2)
        for i, chance in enumerate(probes.probabilities(images).values())
    ]
    gradient = (pixels - pixels.mean(0)).T @ torch.cat(errors, 1) / len(pixels) + WEIGHT_DECAY * probes.weight
    assert gradient.abs().max() < 1e-3 * probes.weight.abs().max()
    again = train_probes(WORLD, 60, 0)
    assert torch.equal(again.weight, probes.weight)


def test_calibration_gives_accuracy_and_what_a_blank_is_called(probes):
    rows = {(row.get("node") or row["canvas"], short(row)): row["value"] for row in calibrate(probes, WORLD, 40, 0)}
    for node in WORLD.nodes:
        for concept in WORLD.concepts:
            assert rows[node, f"calibration.probe.{concept}"] >= 0.9
    assert rows["blank", "calibration.probe.size=small"] > 0.9  # the trap: white paper has little ink
    assert rows["blank", "calibration.probe.shape=triangle"] > 0.5
    for kind in ("blank", "noise", "mean"):
        total = rows[kind, "calibration.probe.color=red"] + rows[kind, "calibration.probe.color=blue"]
        assert total == pytest.approx(1)
    assert len(rows) == 8 * 3 + 3 * 6


def test_samples_beyond_the_range_are_clipped_and_broken_ones_are_never_right(probes):
    image = WORLD.render(WORLD.prototype(WORLD.digits("000")))
    beyond = torch.where(image > 0.99, 3.0, image)
    assert torch.equal(probes.answers(beyond), probes.answers(image))
    image[0, 0, 0, 0] = torch.nan
    assert probes.answers(image).tolist() == [[-1, -1, -1]]
    assert probes.probabilities(image)["shape"].tolist() == [[0, 0]]
