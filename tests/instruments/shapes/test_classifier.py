"""Classifiers are right on every fresh real image, repeatable to the bit, and answer as the linear probes do."""

import pytest
import torch

from recombine.errors import RunFailed, UserError
from recombine.instruments.shapes import classifier as module
from recombine.instruments.shapes import probes
from recombine.instruments.shapes.accuracy import probe_rows
from recombine.instruments.shapes.classifier import CHUNK, Classifier, ClassifierConfig, fit, train_classifier
from recombine.settings import build
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import real_images
from support.tables import short

WORLD = ShapesWorld(pixels=16, shapes=("circle",), position_jitter=0.45)
QUICK = ClassifierConfig(steps=3, batch=8)
KINDS = ("trunk", "cnn")


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return train_classifier(WORLD, ClassifierConfig(steps=150), 150, 0)


def weights(classifier: Classifier) -> torch.Tensor:
    return torch.cat([parameter.flatten() for parameter in classifier.network.parameters()])


def test_trunk_is_right_on_every_fresh_image(classifier: Classifier) -> None:
    images, digits = real_images(WORLD, WORLD.nodes, 500, 0, "fresh")
    assert torch.equal(classifier.answers(images), digits)


def test_cnn_is_right_on_every_fresh_image() -> None:
    classifier = train_classifier(WORLD, ClassifierConfig(kind="cnn", steps=80), 100, 0)
    images, digits = real_images(WORLD, WORLD.nodes, 500, 0, "fresh")
    assert torch.equal(classifier.answers(images), digits)
    assert len(classifier.network.networks) == 2  # one for each concept


def bars(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A bar of three pixels that lies or stands, anywhere, in one of three channels."""
    generator = torch.Generator().manual_seed(seed)
    digits = torch.stack([torch.arange(count) % 2, torch.arange(count) % 3], 1)
    images = -torch.ones(count, 3, 8, 8)
    corners = torch.randint(0, 6, (count, 2), generator=generator)
    for image, (stands, channel), (row, column) in zip(images, digits.tolist(), corners.tolist(), strict=True):
        image[channel, row : row + (3 if stands else 1), column : column + (1 if stands else 3)] = 1
    return images, digits


BARS = {"way": ("lies", "stands"), "channel": ("first", "second", "third")}


def test_reads_what_no_linear_probe_can_and_three_values() -> None:
    (images, digits), (fresh, truth) = bars(1200, 0), bars(300, 1)
    classifier = fit(images, digits, BARS, ClassifierConfig(steps=200), 0)
    assert torch.equal(classifier.answers(fresh), truth)
    chances = classifier.probabilities(fresh)
    assert [chances[concept].shape for concept in BARS] == [(300, 2), (300, 3)]
    linear = (probes.fit(images, digits, BARS).answers(fresh) == truth).double().mean(0)
    assert linear[0] < 0.9


def test_at_chance_on_shuffled_labels() -> None:
    images, digits = bars(600, 0)
    order = torch.randperm(600, generator=torch.Generator().manual_seed(0))
    classifier = fit(images, digits[order], BARS, ClassifierConfig(steps=60), 0)
    fresh, truth = bars(600, 1)
    right = (classifier.answers(fresh) == truth).double().mean(0)
    assert (right - torch.tensor([1 / 2, 1 / 3])).abs().max() < 0.15


def test_probabilities_sum_to_one_and_carry_no_gradient(classifier: Classifier) -> None:
    images, _ = real_images(WORLD, WORLD.nodes, 10, 1, "fresh")
    for chances in classifier.probabilities(images.requires_grad_()).values():
        assert torch.allclose(chances.sum(1), torch.ones(40))
        assert not chances.requires_grad
    assert not any(parameter.requires_grad for parameter in classifier.network.parameters())
    assert all(parameter.grad is None for parameter in classifier.network.parameters())


def test_an_image_is_answered_the_same_in_any_batch(classifier: Classifier) -> None:
    images, _ = real_images(WORLD, WORLD.nodes, CHUNK // 2, 2, "fresh")  # two chunks
    images = images + 0.5 * torch.randn(images.shape, generator=torch.Generator().manual_seed(0))
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
    assert torch.equal(classifier.answers(images[order]), classifier.answers(images)[order])
    shuffled, chances = classifier.probabilities(images[order]), classifier.probabilities(images)
    for concept in WORLD.concepts:
        assert torch.allclose(shuffled[concept], chances[concept][order], atol=1e-5)
    assert classifier.answers(images[:0]).shape == (0, 2)


def test_samples_beyond_the_range_are_clipped_and_broken_ones_are_never_right(classifier: Classifier) -> None:
    image = WORLD.render(WORLD.prototype(WORLD.digits("00")))
    beyond = torch.where(image > 0.99, 3.0, image)
    clipped = torch.where(image > 0.99, 1.0, image)
    assert torch.equal(classifier.probabilities(beyond)["size"], classifier.probabilities(clipped)["size"])
    broken = image.repeat(3, 1, 1, 1)
    broken[0, 0, 0, 0], broken[1, 0, 0, 0] = torch.nan, torch.inf
    assert classifier.answers(broken).tolist() == [[-1, -1], [-1, -1], [0, 0]]
    assert classifier.probabilities(broken)["size"][:2].tolist() == [[0, 0], [0, 0]]
    assert broken[0, 0, 0, 0].isnan()  # the caller's images stay as they were


def test_takes_the_place_of_probes(classifier: Classifier) -> None:
    images, _ = real_images(WORLD, ("01",), 50, 3, "fresh")
    asked = {node: probe_rows(classifier, images, WORLD.digits(node)[0]) for node in WORLD.nodes}
    values = {(node, short(row)): row["value"] for node, rows in asked.items() for row in rows}
    assert values["01", "probe.product"] == 1
    assert values["00", "probe.product"] == 0
    assert values["00", "probe.color"] == 1
    assert 0.9 < values["01", "probe.probability"] <= 1
    calibration = probes.calibrate(classifier, WORLD, 20, 0)
    assert all(row["value"] == 1 for row in calibration if "node" in row)
    assert len(calibration) == 4 * 2 + 3 * 4


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bits_and_torch_is_left_alone(kind: str) -> None:
    config = QUICK.replace(kind=kind, noise=0.1)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = train_classifier(WORLD, config, 5, 0)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.is_grad_enabled()
    assert not torch.backends.cudnn.deterministic
    torch.manual_seed(2)
    again, other = train_classifier(WORLD, config, 5, 0), train_classifier(WORLD, config, 5, 1)
    assert torch.equal(weights(one), weights(again))
    assert not torch.equal(weights(one), weights(other))


@pytest.mark.parametrize("change", [{"noise": 0.1}, {"weight_decay": 1.0}, {"rate": 1e-2}, {"batch": 9}, {"steps": 4}])
def test_every_setting_counts(change: dict[str, float]) -> None:
    plain, changed = (train_classifier(WORLD, config, 5, 0) for config in (QUICK, QUICK.replace(**change)))
    assert not torch.equal(weights(plain), weights(changed))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 4, 4), (3, 5, 7), (1, 16, 9)])
def test_any_resolution(kind: str, shape: tuple[int, int, int]) -> None:
    images, digits = torch.zeros(6, *shape), torch.zeros(6, 2, dtype=torch.int64)
    classifier = fit(images, digits, BARS, QUICK.replace(kind=kind), 0)
    assert classifier.probabilities(images)["channel"].shape == (6, 3)


def test_images_of_all_worlds_are_mixed_and_no_two_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = []
    monkeypatch.setattr(module, "fit", lambda images, digits, *rest: pools.append((images, digits)))
    train_classifier([WORLD, WORLD], QUICK, 5, 0)
    images, digits = pools[0]
    assert images.shape == (2 * 4 * 5, 3, 16, 16)
    assert len(images.flatten(1).unique(dim=0)) == len(images)
    assert digits.sum(0).tolist() == [20, 20]


@pytest.mark.parametrize(
    ("worlds", "per_node", "complaint"),
    [
        ([], 5, "a classifier needs images: give at least one world"),
        (WORLD, 0, "0 images of each node: a classifier needs at least 1"),
        ([WORLD, ShapesWorld(pixels=16)], 5, r"cannot learn color \(red/blue\), size \(large/small\) and shape"),
        ([WORLD, WORLD.replace(colors=("blue", "red"))], 5, "give worlds with the same concepts"),
        ([WORLD, WORLD.replace(pixels=20)], 5, r"shapes \(3, 16, 16\) and \(3, 20, 20\): give worlds with the same"),
    ],
)
def test_worlds_that_do_not_fit(worlds: object, per_node: int, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as caught:
        train_classifier(worlds, QUICK, per_node, 0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"steps": 0}, "'steps' = 0: input should be greater than 0"),
        ({"noise": -1}, "'noise' = -1"),
        ({"kind": "linear"}, "'kind' = 'linear': input should be 'cnn' or 'trunk'"),
        ({"step": 10}, "unknown key 'step'; did you mean 'steps'?"),
    ],
)
def test_bad_config(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        build(ClassifierConfig, wrong)
    assert str(caught.value).startswith(complaint)


def test_a_lost_training_says_so() -> None:
    with pytest.raises(RunFailed, match="lower its rate"):
        train_classifier(WORLD, QUICK.replace(rate=1e30), 5, 0)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_on_a_gpu_too_same_seed_same_bits(kind: str) -> None:
    config = ClassifierConfig(kind=kind, steps=200)
    one, again = (train_classifier(WORLD, config, 150, 0, "cuda") for _ in range(2))
    assert torch.equal(weights(one), weights(again))
    images, digits = real_images(WORLD, WORLD.nodes, 500, 0, "fresh")
    assert torch.equal(one.answers(images), digits)  # asked and answered on the CPU
    assert one.answers(images.cuda()).is_cuda
