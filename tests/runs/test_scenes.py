"""Runs on scenes: their networks, their prompts, and what they refuse."""

import pytest
import torch

from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.folded import FoldedNetwork
from recombine.denoisers.label_code import CodedNetwork
from recombine.denoisers.local import LocalNetwork
from recombine.denoisers.unet import UNet
from recombine.errors import UserError
from recombine.runs.kinds import read_run
from recombine.runs.scenes import ScenesRun, read_places
from recombine.settings import override
from recombine.studies.local_scores.length.arms import SMOKE
from recombine.studies.local_scores.length.experiment import EXPERIMENT

ARMS = EXPERIMENT.budgets["smoke"].arms


def run(arm: str) -> ScenesRun:
    config = ARMS[arm]
    assert isinstance(config, ScenesRun)
    return config


def test_a_run_has_the_network_it_names() -> None:
    scaled = run("2 1-3").model().network
    assert isinstance(scaled, CodedNetwork)
    assert isinstance(scaled.network, FoldedNetwork)
    plain = run("2 1-3").replace(code="plain")
    assert isinstance(plain.model().network, FoldedNetwork)
    assert isinstance(plain.replace(network=UNetConfig(channels=8).model_dump()).model().network, UNet)
    assert isinstance(run("2L 1-3").model().network, LocalNetwork)


def test_runs_whose_weights_do_not_fit_are_not_alike() -> None:
    assert run("1 1-3").architecture == run("2 1-3").architecture  # other labels, the same network
    assert len({run(arm).architecture for arm in ("1 1-3", "3 1-3", "2L 1-3", "3L 1-3")}) == 4


def test_a_stored_config_is_read_as_a_run_on_scenes() -> None:
    for arm in ("3 1-3", "2L 1-3"):
        assert read_run(run(arm).model_dump(mode="json")) == run(arm)


def test_the_training_set_holds_what_the_split_says() -> None:
    config = override(run("2 1-3"), {"split.images": 300})
    pool = config.pool("cpu")
    assert pool.images.shape == (300, 3, 16, 16)
    assert (pool.conditions.sum(1) == 1).all()  # one label each
    every = override(run("1 1-3"), {"split.images": 300}).pool("cpu")
    assert torch.equal(every.images, pool.images)  # the same scenes
    counts = torch.bincount(every.conditions.sum(1).long(), minlength=4)
    assert counts[0] == 0
    assert counts[1:].min() > 60


def test_prompts_of_every_number_or_of_places() -> None:
    config = run("1 1-3")
    condition, key = config.prompts(None, 2)
    assert condition.sum(1).tolist() == [1, 1, 3, 3]
    condition, key = config.prompts(["3,3 9,12", "8,8"], 3)
    assert condition.sum(1).tolist() == [2, 2, 2, 1, 1, 1]
    assert len(key.unique()) == 6
    assert read_places("1,2 3.5,4") == [(1.0, 2.0), (3.5, 4.0)]
    assert config.prompts(["", "8,8"], 1)[0].sum(1).tolist() == [0, 1]  # a scene without objects
    with pytest.raises(UserError, match="two places lie in one cell"):
        config.prompts(["3,3 3,3"], 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split.objects": (1, 13)}, "this world has 0 to 12 objects"),
        ({"evaluation.counts": (1, 13)}, "13 objects and a scene holds 12"),
        ({"labels.grid": 4}, "give both alike"),
        ({"labels.form": "list", "labels.slots": 2}, "3 labels and a list has 2 slots"),
    ],
)
def test_what_does_not_fit(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        override(SMOKE, changes).check()


def test_places_that_cannot_be_read_or_lie_outside() -> None:
    with pytest.raises(UserError, match="give places in pixels"):
        read_places("1,2,3")
    for place in ("3,40", "-1,3", "nan,3", "inf,3"):
        with pytest.raises(UserError, match="lies outside of the image"):
            run("1 1-3").prompts([place], 1)
