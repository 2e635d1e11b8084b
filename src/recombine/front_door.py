"""The front door for Python: run an experiment, load a finished run, draw from it, measure it.

`import recombine as rc` offers what is here by the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from recombine.errors import RunFailed, UserError
from recombine.lab.experiment import Experiment, Plan, find_experiment, make_plan
from recombine.lab.store import RunFolder, Store
from recombine.studies import EXPERIMENTS

if TYPE_CHECKING:
    import pandas
    import polars as pl
    from torch import Tensor

    from recombine.runs.base import Run

STORE = "store"


@dataclass(frozen=True)
class Result:
    """What an experiment gave."""

    experiment: Experiment
    budget: str
    table: pl.DataFrame = field(repr=False)  # arm, seed, images_seen, factor columns, instrument, value
    claims: list[dict[str, Any]] = field(repr=False)
    figures: dict[str, Path]  # by name
    report: Path
    runs: tuple[str, ...]  # addresses
    store: Store = field(repr=False)

    @property
    def verdicts(self) -> pl.DataFrame:
        """A row for every claim: claim, says, paper, estimate, low, high, n, verdict."""
        import polars as pl

        rows = [
            {"claim": c["claim"], "says": c["says"], "paper": c["paper"], "estimate": c["estimate"],
             "low": (c["interval"] or [None])[0], "high": (c["interval"] or [None])[-1], "n": c["n"],
             "verdict": c["verdict"]}
            for c in self.claims
        ]  # fmt: skip
        schema = {"claim": pl.String, "says": pl.String, "paper": pl.String, "estimate": pl.Float64,
                  "low": pl.Float64, "high": pl.Float64, "n": pl.Int64, "verdict": pl.String}  # fmt: skip
        return pl.DataFrame(rows, schema=schema)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas frame; needs pandas, which is no dependency."""
        return _as_pandas(self.table)

    def __str__(self) -> str:
        lines = [f"{self.experiment.address} at {self.budget}: {self.experiment.question}"]
        lines += [f"  {c['claim']}: {c['verdict']}. {c['says']}" for c in self.claims]
        return "\n".join([*lines, f"  report: {self.report}"])


@dataclass(frozen=True)
class Model:
    """A trained model of a finished run, on the CPU."""

    folder: RunFolder

    @cached_property
    def run(self) -> Run:
        """The config that it was trained by."""
        from recombine.runs.kinds import read_run

        return read_run(self.folder.config())

    @cached_property
    def denoiser(self) -> Any:
        """The network as a Denoiser: `denoise(x, sigma, condition) -> x0`."""
        from recombine.lab.samples import trained_model

        return trained_model(self.run, self.folder)

    @property
    def table(self) -> pl.DataFrame:
        """Everything that was measured while it trained, with the factor columns that its rows have."""
        import polars as pl

        return pl.DataFrame(self.folder.rows(), infer_schema_length=None)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas frame; needs pandas, which is no dependency."""
        return _as_pandas(self.table)

    def sample(self, condition: str | Iterable[str] | None = None, n: int = 8, seed: int | None = None) -> Tensor:
        """Images of a condition in words, `n` of each; without one, of everything that the run drew itself.

        A condition is "shape=triangle color=blue size=small" or "111" of a concept graph, "x=16,y=8.5" of bumps,
        places in pixels, "12,20 40,33", of scenes. The same seed draws the same noise.  # [conditions * n, C, H, W]
        """
        from recombine.diffusion.samplers import sample as draw
        from recombine.training.execution import Execution
        from recombine.training.inference import FastDenoiser

        if n < 1:
            raise UserError(f"n = {n}: ask for at least one image")
        run = self.run if seed is None else self.run.with_seeds(self.run.seeds.replace(sampling=seed))
        asked = [condition] if isinstance(condition, str) else None if condition is None else list(condition)
        prompt, key = run.prompts(asked, n)
        fast = FastDenoiser(self.denoiser, Execution.plain("cpu", torch.get_num_threads()))
        return draw(fast.denoise, run.evaluation.sampler, run.schedule, run.world.image_shape, prompt, key)

    def measure(self) -> pl.DataFrame:
        """What the instruments of its run read of it now: as at the end of training, from the same noise."""
        import polars as pl

        from recombine.training.execution import Execution
        from recombine.training.inference import FastDenoiser

        fast = FastDenoiser(self.denoiser, Execution.plain("cpu", torch.get_num_threads()))
        rows, _ = self.run.measure(fast.denoise, self.run.evaluation.sampler, torch.device("cpu"), "")
        return pl.DataFrame(rows, infer_schema_length=None)


def experiments() -> Mapping[str, Experiment]:
    """Every experiment by its address; each is imported when it is asked for.

    >>> import recombine as rc
    >>> "concept-graphs/emergence" in rc.experiments()
    True
    >>> rc.experiments()["concept-graphs/toy"].question.endswith("?")
    True
    """
    return EXPERIMENTS


def run(
    experiment: str | Path, budget: str | None = None, *, seeds: int | None = None, arms: Iterable[str] = (),
    changes: Mapping[str, Any] | None = None, store: Store | Path | str = STORE, device: str = "auto",
) -> Result:  # fmt: skip
    """Train what is missing of an experiment, then judge, draw and report; what is done already is not done again.

    `changes` are settings by dotted keys, as `--set` takes them; `experiment` may be a file of your own.

    >>> import recombine as rc
    >>> result = rc.run("concept-graphs/toy", budget="smoke", store="my-store")
    >>> result.table.columns[:3]
    ['arm', 'seed', 'images_seen']
    >>> sorted(result.figures)
    ['figure']
    >>> result.verdicts.columns[:3]
    ['claim', 'says', 'paper']
    """
    from recombine.lab.execute.local import run_local
    from recombine.training.execution import resolve_device

    place = resolve_device(device)
    plan = make_plan(
        _experiment(experiment), budget or ("full" if place.startswith("cuda") else "laptop"), seeds, changes,
        arms=tuple(arms),
    )  # fmt: skip
    where = store if isinstance(store, Store) else Store(store)
    failures = run_local([each.config for each in plan.runs], where, device, lambda news: None)
    if failures:
        raise RunFailed("; ".join(failures))
    return _concluded(plan, where)


def train(config: Run, store: Store | Path | str = STORE, device: str = "auto") -> Model:
    """Train one run of your own and load it; a finished one is loaded as it is.

    >>> import recombine as rc
    >>> from recombine.studies.concept_graphs.emergence.experiment import SMOKE
    >>> world = SMOKE.world.replace(shapes=("circle", "square"))
    >>> model = rc.train(SMOKE.replace(world=world.model_dump()), store="my-store", device="cpu")
    >>> tuple(model.sample("shape=square color=red size=large", n=2).shape)
    (2, 3, 8, 8)
    """
    from recombine.lab.execute.local import run_local

    config.check()
    where = store if isinstance(store, Store) else Store(store)
    failures = run_local([config], where, device, lambda news: None)
    if failures:
        raise RunFailed("; ".join(failures))
    return load(config.address, where)


def load(run: str, store: Store | Path | str = STORE) -> Model:
    """The model of a finished run, by the first characters of its address (`recombine status` lists them).

    >>> import recombine as rc
    >>> result = rc.run("concept-graphs/emergence", budget="smoke", store="my-store", device="cpu")
    >>> model = rc.load(result.runs[0], "my-store")
    >>> tuple(model.sample("shape=triangle color=blue size=small", n=3).shape)
    (3, 3, 8, 8)
    >>> model.table["images_seen"].max() == model.run.training.total
    True
    """
    from recombine.lab.sheet import check_drawable

    folder = (store if isinstance(store, Store) else Store(store)).find(run)
    check_drawable(folder)
    return Model(folder)


def sample(
    run: str | Model, condition: str | Iterable[str] | None = None, n: int = 8, *, seed: int | None = None,
    store: Store | Path | str = STORE,
) -> Tensor:  # fmt: skip
    """Images from a model or from a finished run: see `Model.sample`.

    >>> import recombine as rc
    >>> result = rc.run("concept-graphs/emergence", budget="smoke", store="my-store", device="cpu")
    >>> same = [rc.sample(result.runs[0], "111", n=2, seed=7, store="my-store") for _ in range(2)]
    >>> bool((same[0] == same[1]).all())
    True
    """
    return (run if isinstance(run, Model) else load(run, store)).sample(condition, n, seed)


def measure(run: str | Model, store: Store | Path | str = STORE) -> pl.DataFrame:
    """What the instruments of a run read of its trained model.

    >>> import recombine as rc
    >>> result = rc.run("concept-graphs/emergence", budget="smoke", store="my-store", device="cpu")
    >>> table = rc.measure(result.runs[0], "my-store")
    >>> {"node", "instrument", "value"} <= set(table.columns)
    True
    """
    return (run if isinstance(run, Model) else load(run, store)).measure()


def _experiment(name: str | Path) -> Experiment:
    from recombine.lab.user_experiment import is_file, load_user_experiment

    if isinstance(name, Path) or is_file(name):
        return load_user_experiment(Path(name), EXPERIMENTS)
    return find_experiment(EXPERIMENTS, name)


def _concluded(plan: Plan, store: Store) -> Result:
    from recombine.lab.report.conclude import conclude, variant
    from recombine.lab.table import read_table

    claims, report = conclude(plan, store)
    folder = store.experiment(plan.experiment.study, plan.experiment.name, variant(plan))
    figures = {path.stem: path for path in sorted(folder.glob("*.png"))}
    table = read_table(folder / "table.parquet")
    addresses = tuple(dict.fromkeys(each.address for each in plan.runs))
    return Result(plan.experiment, plan.budget, table, claims, figures, report, addresses, store)


def _as_pandas(table: pl.DataFrame) -> pandas.DataFrame:
    try:
        import pandas
    except ModuleNotFoundError:
        raise UserError("a pandas frame needs pandas: pip install pandas, or use the polars frame `table`") from None
    return pandas.DataFrame(table.to_dict(as_series=False))
