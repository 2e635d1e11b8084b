"""The runs of length generalization: networks, training and evaluation at each budget, and how arms differ.

Experiments of this study that measure the same models (locality, scatter, soft, ...) take their runs from here.
"""

from collections.abc import Iterable
from itertools import product
from typing import Any

from recombine.denoisers.configs import ConditionConfig, FoldedConfig, LocalConfig, UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule
from recombine.instruments.locality.evaluation import LocalityProbe
from recombine.instruments.scenes.evaluation import SceneEvaluation
from recombine.instruments.scenes.machine_evaluation import MachineComparison, ReceptiveFields
from recombine.instruments.scenes.object_finder import THOROUGH, FinderConfig
from recombine.runs.scenes import ScenesRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.local_scores._shared.label_recall import HEADLINE, arm_of
from recombine.studies.local_scores.length.claims import CHANNEL, FAR, FIXED, LINEAR, MULTIPLIED, WHOLE
from recombine.training.replica import TrainingConfig
from recombine.worlds.scenes.world import SceneWorld

NOISE = EDMSchedule(p_mean=0.0, p_std=1.4)  # where it is decided whether an object is there
EMBEDDED = ConditionConfig(entry="joint", where="all", hidden=0, width=256, mode="multiply")  # one linear embedding
INSIDE = ConditionConfig(entry="add", where="all", width=128)  # the labels of a patch, and its position
SAMPLER = SamplerConfig(method="multistep", steps=18)  # deterministic, as EDM2's
TRAINED = {HEADLINE: (1, 2, 3), "1": (1,), "1-5": (1, 2, 3, 4, 5)}  # objects of an image; in this order they are run
EXPERIMENTS: dict[str, dict[str, Any]] = {  # the paper's
    "1": {},
    "2": {"labels.labelled": "one"},
    "3": {"labels.form": "list"},
    "2L": {"labels.labelled": "one"},
    "3L": {"labels.form": "list"},
}
PREDICTED = (("2", "1-3"), ("2L", "1-3"))  # compared with a training-free local-score model, for `machine`
VARIANTS = tuple(
    arm_of(name, HEADLINE)
    for name in (f"1 {CHANNEL}", f"2 {CHANNEL}", f"2L {CHANNEL}", f"2L {MULTIPLIED}", f"2L {LINEAR}", f"3 {FIXED}")
)

CELLS = FoldedConfig(fold=4, inner=UNetConfig(channels=64, multipliers=(1, 2), condition=EMBEDDED))
PATCH = FoldedConfig(fold=4, inner=UNetConfig(channels=128, multipliers=(1,), condition=INSIDE))  # 5 x 5 cells
TWO_LEVELS = {"network.inner.fold": 2, "network.inner.inner.channels": 64, "network.inner.inner.multipliers": (1, 2)}
FULL = ScenesRun(
    network=CELLS,
    code="scaled",
    schedule=NOISE,
    training=TrainingConfig(images=600_000, batch=128, rate=2e-3, warmup_images=10_000, ema_images=10_000),
    evaluation=SceneEvaluation(
        points=3, first=100_000, sheet_points=1, sheet_images=6, finder=THOROUGH, sampler=SAMPLER
    ),
    locality=LocalityProbe(),
    machine=MachineComparison(images=2_000, layouts=32),
)
FULL_LOCAL = LocalConfig(inner=PATCH, radius=2)
DISCS = SceneWorld(pixels=32, style="discs", grid=8, colours=("blue",), loose_gap=0.25)
LAPTOP = override(
    FULL,
    {"world": DISCS.model_dump(), "labels.grid": 8, "labels.slots": 8,
     "split.images": 20_000, "network.inner.condition.width": 128, "training.images": 96_000, "training.batch": 64,
     "training.rate": 3e-3, "training.warmup_images": 1_000, "training.ema_images": 2_000, "evaluation.points": 2,
     "evaluation.first": 16_000, "evaluation.counts": (1, 2, 3, 4, 6, 8), "evaluation.layouts": 32,
     "evaluation.together": 32, "evaluation.finder": FinderConfig().model_dump(),
     "locality": LocalityProbe(
         points=1, prompts=4, levels=4, reach=1, gradients=2, local_gradients=1).model_dump(),
     "machine": MachineComparison(
         images=1_000, receptive_fields=ReceptiveFields(radius=1, label_radius=1), counts=(1, 3, 6), layouts=16,
         sampler=SamplerConfig(steps=18, eta=0.0)).model_dump()},
)  # fmt: skip
LAPTOP_LOCAL = LocalConfig(inner=UNetConfig(channels=16, multipliers=(1, 2), condition=INSIDE), radius=1)
SMOKE = override(
    LAPTOP,
    {"world.pixels": 16, "split.images": 64, "network.inner.channels": 8, "training.images": 128,
     "training.warmup_images": 0, "training.ema_images": 64, "evaluation.first": 64, "evaluation.counts": (1, 3),
     "evaluation.layouts": 2, "evaluation.calibration_scenes": 2,
     "evaluation.sampler": SamplerConfig(steps=3).model_dump(),
     "machine.images": 64, "machine.counts": (1, 3), "machine.layouts": 2, "machine.sampler.steps": 3,
     "locality.labels": 2, "locality.prompts": 2, "locality.levels": 2, "locality.gradients": 1},
)  # fmt: skip
SMOKE_LOCAL = override(LAPTOP_LOCAL, {"inner.channels": 8})
BASES = {"smoke": (SMOKE, SMOKE_LOCAL), "laptop": (LAPTOP, LAPTOP_LOCAL), "full": (FULL, FULL_LOCAL)}
WIDE = {"smoke": 3, "full": 8}  # radius in cells of the controls' receptive fields


def experiments(budget: str, names: Iterable[str], trained: Iterable[str] = (HEADLINE,)) -> dict[str, Work]:
    """A run of each of the paper's experiments for each training set, at a budget."""
    (base, local), runs = BASES[budget], dict[str, Work]()
    for objects, name in product(trained, tuple(names)):
        run = override(base, {**EXPERIMENTS[name], "split.objects": TRAINED[objects]})
        if objects != HEADLINE:
            run = override(run, {"training.images": base.training.images // 2})
        if TRAINED[objects] == (1,):
            run = override(run, {"labels.labelled": "all"})  # one of one: Exps 1 and 2 are the same run
        if (name, objects) not in PREDICTED:
            run = run.replace(machine=None)
        runs[arm_of(name, objects)] = run.replace(network=local.model_dump()) if name.endswith("L") else run
    return runs


def variants_and_controls(budget: str) -> dict[str, Work]:
    """On 1 to 3 objects: labels that enter the network in other ways, and 2L with larger receptive fields."""
    return {**variants(budget), **controls(*BASES[budget], WIDE[budget])}


def controls(base: ScenesRun, local: LocalConfig, wide: int) -> dict[str, Work]:
    """2L with this label receptive field, and 2L with such a patch, for which fewer layouts are sampled."""
    plain = override(base, {**EXPERIMENTS["2L"], "machine": None})
    far = plain.replace(network=override(local, {"label_radius": wide}).model_dump())
    fewer = {"evaluation.layouts": max(2, base.evaluation.layouts // 4), "evaluation.together": 8}
    large = override(plain, fewer).replace(network=override(local, {"radius": wide}).model_dump())
    return {FAR: _embedded_linearly(far), WHOLE: _embedded_linearly(large)}


def variants(budget: str) -> dict[str, Work]:
    """A grid as a channel of the image, or embedded in a patch as in whole images; a list from its first slot on."""
    plain = experiments(budget, ("1", "2", "2L", "3")).values()
    one, two, local_two, three = (run.replace(machine=None) for run in plain)
    channels = [_as_channel(run) for run in (one, two, local_two)]
    patches = [_entering(local_two, {"entry": "multiply"}), _embedded_linearly(local_two)]
    return dict(zip(VARIANTS, [*channels, *patches, override(three, {"labels.order": "fixed"})], strict=True))


def _embedded_linearly(run: Work) -> ScenesRun:
    """The same run of a local network with the embedding of Exps 1 to 3: scaled, one linear map, multiplied.

    On cells, its U-Net also has a coarser level, as theirs has, and is trained longer and in smaller batches, because
    a patch as large as the image learns its labels late.
    """
    linear = override(_entering(run, EMBEDDED.model_dump()), {"code": "window", "evaluation.points": 1})
    if not _folded(linear):
        return linear
    longer = {"training.images": 2 * linear.training.images, "training.batch": linear.training.batch // 2}
    return override(linear, {**TWO_LEVELS, **longer})


def _as_channel(run: Work) -> ScenesRun:
    """The same run with its labels as a channel of the image or of each patch."""
    assert isinstance(run, ScenesRun)
    if isinstance(run.network, LocalConfig):
        return override(_entering(run, {"entry": "spatial"}), {"code": "plain"})
    maps = {"entry": "spatial", "grid": (run.labels.grid,) * 2}
    return override(run, {"code": "plain", **{f"network.inner.condition.{key}": value for key, value in maps.items()}})


def _entering(run: Work, condition: dict[str, Any]) -> ScenesRun:
    """The same run of a local network, whose condition enters in another way."""
    assert isinstance(run, ScenesRun)
    inner = "network.inner.inner" if _folded(run) else "network.inner"
    return override(run, {f"{inner}.condition": condition})


def _folded(run: ScenesRun) -> bool:
    """Whether the network of a patch works on cells, as at full."""
    assert isinstance(run.network, LocalConfig)
    return isinstance(run.network.inner, FoldedConfig)
