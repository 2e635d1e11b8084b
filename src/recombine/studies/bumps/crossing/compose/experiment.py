"""Liang et al. 2024, Figs. 4 a-f, 9 and 10: what does a model need to put two stripes where it never saw them cross?

*World.* Two crossing stripes at (x, y) on a white square of 32 x 32; labels reach 6 px beyond it on each side, where
one stripe is outside ("1D"). *Split.* A cross is held out: x in [13, 19], or y. Arm 2D sees the crossings that are
left; 1D sees lone stripes alone, over the full range; 2D+1D sees both; 1D+rim sees no crossing, but stripes whose
partner just shows at the edge.
*Model.* A U-Net that receives sinusoids of the raw label in every block. *Measured.* Where the stripes of samples
cross, at every pixel: x, y and both, by region. *Beside it.* The nearest-label baseline of each training set.
"""

from typing import Any

from recombine.denoisers.configs import ConditionConfig, UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import LinearSchedule
from recombine.instruments.bumps.evaluation import BumpEvaluation
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import DATA, data_of
from recombine.studies.bumps._shared.nearest_label import baseline_of, model_of, sampled_nearest_label
from recombine.training.replica import TrainingConfig
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import Cross, LabelSplit

FULL = BumpsRun(
    world=BumpsWorld(pattern="stripes", margin=6),
    split=LabelSplit(held_out=Cross()),
    network=UNetConfig(
        channels=32, multipliers=(1, 2, 4, 4), attention=(1, 2, 3), activation="gelu",
        condition=ConditionConfig(entry="positional", where="all", hidden=0, width=128, mode="add"),
    ),
    schedule=LinearSchedule(steps=1000),
    training=TrainingConfig(
        images=160_000, batch=128, rate=3e-3, warmup_images=10_000, weight_decay=1e-3, ema_images=10_000
    ),
    evaluation=BumpEvaluation(points=5, first=20_000, sheet_points=4),
)  # fmt: skip
LAPTOP = override(
    FULL,
    {"world.pixels": 16, "world.margin": 5, "world.width": 0.75, "split.step": 0.25,
     "split.held_out": {"kind": "cross", "low": 6, "high": 11}, "network.channels": 16,
     "network.multipliers": (1, 2, 2), "network.attention": (), "network.condition.width": 32,
     "training.images": 120_000, "training.batch": 32, "training.ema_images": 2_000,
     "evaluation.points": 8, "evaluation.first": 5_000},
)  # fmt: skip
SMOKE = override(
    LAPTOP,
    {"world.pixels": 8, "world.margin": 4, "split.step": 1.0, "split.held_out": {"kind": "cross", "low": 4, "high": 5},
     "network.channels": 8, "network.condition.width": 8, "training.images": 256, "training.ema_images": 64,
     "evaluation.points": 2, "evaluation.first": 64, "evaluation.sheet_points": 1,
     "evaluation.sampler": SamplerConfig(steps=4).model_dump()},
)  # fmt: skip

PARTS: dict[str, dict[str, object]] = {
    "2D": {"split.parts": ("2D",)},
    "2D+1D": {"split.parts": ("2D", "1D")},
    "1D": {"split.parts": ("1D",), "split.rim": False},
    "1D+rim": {"split.parts": ("1D",)},
}


def arms(base: BumpsRun, names: tuple[str, ...], step: float) -> dict[str, Work]:
    """A run for each training set, and its nearest-label baseline with labels `step` px from each other."""
    runs = {name: override(base, PARTS[name]) for name in names}
    return {**runs, **{baseline_of(name): sampled_nearest_label(run, step) for name, run in runs.items()}}


def of_arm(config: Any) -> dict[str, str]:
    """Which parts of the label space an arm is about, and what answers there."""
    return {"data": data_of(config.split), "model": model_of(config)}


EXPERIMENT = Experiment(
    question="Does a model that saw each factor alone put both together where it never saw them cross?",
    figure="Liang et al. 2024, Figs. 4 a-f, 9, 10",
    budgets={
        "smoke": Budget(arms(SMOKE, tuple(PARTS), 1.0), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            arms(LAPTOP, ("2D", "2D+1D"), 0.25), 1, "16 px, 2D against 2D+1D, one seed, minutes on two CPU cores"
        ),
        "full": Budget(arms(FULL, tuple(PARTS), 0.25), 5, "32 px, four training sets of five seeds, on one GPU"),
    },
    columns=DATA,
    of_arm=of_arm,
    assumptions=(
        "Held out is x in [13, 19] OR y: the arms are tested too. There is a label every tenth of a pixel, from 0.1 to "
        "the edge; the image is the middle of the label space (the paper says 44 x 44 and 32 x 32, not where).",
        "Without the rim a lone stripe's partner shows less than half a grey level at the edge of the image: 4.7 px "
        "beyond it, the outer 22 of 60 layers of labels at the low sides and 13 at the high ones.",
        "Accuracy is by the darkest pixel, as in the paper, but a blank image is wrong: the paper takes the centroid "
        "of all that is dark where there is no object or several, which puts a blank into the middle of the held-out "
        "cross. `paper.*` counts as the paper does, `fine.*` fits a template to a tenth of a pixel.",
        "The baseline has a label every quarter of a pixel: next to a hold-out its nearest label is then nearer to "
        "the pixel asked for than to any other, as with the tenths that models are trained on.",
        "Network (none is published): three levels down and up with attention from the second on, widths 32, 64, 128, "
        "128, one group norm over all channels, GELU, sinusoids of t, x and y without a trained embedding, one linear "
        "map to every block. 1,000 steps, linear; the paper does not say how long it trained.",
        "Every model sees 160,000 images at a rate of 3e-3 that falls to 0. Chosen by single runs of `2D+1D`: at 1e-3 "
        "all crossings were fine after 160,000 images, at 3e-3 after 100,000 (by the darkest pixel 0.92, arms 0.88).",
        "At laptop: 16 px, stripes of 0.75, x or y in [6, 11] held out, a label every quarter of a pixel.",
    ),
)
