"""Runs on scenes conditioned on colours: training set, prompts, and what they refuse."""

import pytest
import torch

from recombine.errors import UserError
from recombine.runs.coloured_scenes import ColoursRun
from recombine.settings import build, override
from recombine.studies.local_scores.colours.experiment import EXPERIMENT, SMOKE


def test_prompts_of_every_number_or_of_names() -> None:
    condition, key = SMOKE.prompts(None, 2)
    assert condition.sum(1).tolist() == [1, 1, 2, 2, 4, 4]
    assert len(key.unique()) == 6
    condition, key = SMOKE.prompts(["red yellow", "blue"], 3)
    assert condition.sum(1).tolist() == [2, 2, 2, 1, 1, 1]
    assert torch.equal(condition[0], SMOKE.world.label("yellow red"))
    with pytest.raises(UserError, match="no colour 'pink'"):
        SMOKE.prompts(["pink"], 1)


def test_the_condition_has_a_number_for_each_colour() -> None:
    pool, model = SMOKE.pool("cpu"), SMOKE.model()
    assert pool.conditions.shape == (64, 8)
    assert model.denoise(pool.images[:2], torch.ones(2), pool.conditions[:2]).shape == (2, 3, 16, 16)


def test_a_stored_config_is_the_run_again() -> None:
    for run in EXPERIMENT.budgets["full"].arms.values():
        assert isinstance(run, ColoursRun)
        assert build(ColoursRun, run.model_dump(mode="json")).address == run.address


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluation.counts": (1, 9)}, "ask for 1 to 8 colours at once"),
        ({"evaluation.counts": (0, 1)}, "ask for 1 to 8 colours at once"),
        ({"split.objects": (1, 9)}, "this world has 0 to 8 objects"),
        ({"split.source": "clevr", "world.scenes.style": "clevr"}, "set split.source = rendered"),
        ({"labelled": "some"}, "'labelled' = 'some'"),
    ],
)
def test_what_does_not_fit(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        override(SMOKE, changes).check()
