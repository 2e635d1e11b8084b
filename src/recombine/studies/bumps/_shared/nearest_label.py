"""The nearest-label baseline of a run: every prompt is answered with the training image whose label is nearest."""

from typing import Any

from recombine.diffusion.samplers import SamplerConfig
from recombine.instruments.bumps.band_evaluation import BandEvaluation
from recombine.instruments.bumps.evaluation import BumpEvaluation
from recombine.runs.bump_baselines import NearestLabel, SampledNearestLabel
from recombine.runs.bumps import BumpsRun

TRAINED, NEAREST = "trained", "nearest label"


def baseline_of(arm: str) -> str:
    """The arm that holds the nearest-label baseline of another."""
    return f"{NEAREST} {arm}"


def model_of(config: Any) -> str:
    """What answers the prompts in this arm: column `model`."""
    return TRAINED if isinstance(config, BumpsRun) else NEAREST


def nearest_label(run: BumpsRun) -> NearestLabel:
    """The exact baseline of a run's training set, asked for the same."""
    how = run.evaluation
    columns = how.columns if isinstance(how, BandEvaluation) else 0
    return NearestLabel(world=run.world, split=run.split, every=how.every, columns=columns)


def sampled_nearest_label(run: BumpsRun, step: float) -> SampledNearestLabel:
    """The sampled baseline of a run's training set, with labels `step` px from each other."""
    sampler = SamplerConfig(method="ddim", steps=12, eta=0.0)  # its answers are training images after a few steps
    return SampledNearestLabel(
        world=run.world,
        split=run.split.replace(step=step),
        schedule=run.schedule,
        evaluation=BumpEvaluation(every=run.evaluation.every, sampler=sampler),
    )
