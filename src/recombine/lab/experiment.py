"""An Experiment: one question, the runs it needs at each budget, its claims and figure; and the plan of those runs."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from recombine.errors import UserError
from recombine.lab.claims import Claim
from recombine.lab.table import Columns
from recombine.runs.work import Computation, Work
from recombine.seeds import Seeds

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

    from recombine.lab.samples import Samples

BudgetName = Literal["smoke", "laptop", "full"]
BUDGETS: tuple[BudgetName, ...] = get_args(BudgetName)
MOST_SEEDS = 10_000


@dataclass(frozen=True)
class Budget:
    """What an experiment runs at one cost: a config for each arm (seed 0 stands for all) and how many seeds."""

    arms: Mapping[str, Work]
    seeds: int
    says: str


@dataclass(frozen=True)
class Drawing:
    """A figure with its caption."""

    figure: Figure
    caption: str


Draw: TypeAlias = "Callable[[polars.DataFrame, Any], dict[str, Drawing]]"
Sheets: TypeAlias = "Callable[[Mapping[str, Samples]], dict[str, Drawing]]"


@dataclass(frozen=True)
class Experiment:
    """One question of a study.

    An experiment of the house says its question, budgets and columns in `experiment.py`. Its address is that of its
    folder; `claims.py` (CLAIMS), `figures.py` (draw, and sheets where it has its own) and `findings.md` are found
    beside it. Whatever is given here instead is taken from here.
    """

    question: str
    figure: str  # of the paper
    budgets: Mapping[BudgetName, Budget]
    columns: Columns = field(default_factory=dict)  # factor columns of the table: {name: str, int, float or bool}
    of_arm: Callable[[Any], Mapping[str, Any]] | None = None  # an arm's config -> columns that all of its rows share
    assumptions: tuple[str, ...] = ()  # about the paper, where it is silent or ambiguous
    claims: tuple[Claim, ...] = ()  # if there are none here, those of claims.py
    draw: Draw | None = None  # the table and the first arm's config -> figures; None: that of figures.py
    sheets: Sheets | None = None  # of samples; None: that of figures.py, or one an arm
    numbers: Callable[[polars.DataFrame], Mapping[str, Any]] | None = None  # for findings; None: that of findings.py
    study: str = ""
    name: str = ""
    folder: Path | None = None  # that describes it
    file: str = ""  # that describes it, if it is a user's own

    @property
    def address(self) -> str:
        """STUDY/EXPERIMENT."""
        return f"{self.study}/{self.name}"

    @property
    def typed(self) -> str:
        """What is typed to run it."""
        return self.file or self.address

    @property
    def findings(self) -> Path | None:
        """What came out, as text with computed numbers, if it is written yet."""
        path = None if self.folder is None else self.folder / "findings.md"
        return path if path is not None and path.is_file() else None

    def arm_columns(self, arms: Mapping[str, Work]) -> dict[str, Mapping[str, Any]]:
        """{arm: the columns that all of its rows share}."""
        return {} if self.of_arm is None else {arm: self.of_arm(config) for arm, config in arms.items()}


def complete(experiment: Experiment, package: str, folder: Path, study: str, name: str) -> Experiment:
    """The experiment with what lies beside it in its folder; figures are imported when they are drawn."""
    found: dict[str, Any] = {"study": study, "name": name, "folder": folder}
    if not experiment.claims and (folder / "claims.py").is_file():
        found["claims"] = importlib.import_module(f"{package}.claims").CLAIMS
    if (folder / "figures.py").is_file():
        if experiment.draw is None:
            found["draw"] = lambda table, config: importlib.import_module(f"{package}.figures").draw(table, config)
        if experiment.sheets is None:
            found["sheets"] = lambda kept: _own_sheets(f"{package}.figures")(kept)
    if experiment.numbers is None and (folder / "findings.py").is_file():
        found["numbers"] = lambda table: importlib.import_module(f"{package}.findings").numbers(table)
    return replace(experiment, **found)


def _own_sheets(module: str) -> Sheets:
    from recombine.lab.report.conclude import sheet_of_each

    own: Sheets = getattr(importlib.import_module(module), "sheets", sheet_of_each)
    return own


def no_sheets(kept: Mapping[str, Samples]) -> dict[str, Drawing]:
    """No figure of samples: the runs are those of another experiment, which shows them."""
    return {}


@dataclass(frozen=True)
class PlannedRun:
    """One run of a plan."""

    arm: str
    seed: int
    config: Work

    @property
    def address(self) -> str:
        """Where it lives in every store."""
        return self.config.address


@dataclass(frozen=True)
class Plan:
    """The runs that an experiment needs at a budget, every config resolved and checked."""

    experiment: Experiment
    budget: BudgetName
    overrides: Mapping[str, Any]
    runs: tuple[PlannedRun, ...]
    arms: tuple[str, ...] = ()  # that were asked for; none: all


def find_experiment(registry: Mapping[str, Experiment], address: str) -> Experiment:
    """The experiment at this address; an error names the nearest."""
    if address not in registry:
        close = difflib.get_close_matches(address, registry, n=1, cutoff=0.5)
        hint = f"did you mean '{close[0]}'?" if close else "`recombine list` shows them"
        raise UserError(f"no experiment '{address}'; {hint}")
    return registry[address]


def changed_arms(
    arms: Mapping[str, Work], changes: Mapping[str, Any], named: Collection[str] | None = None
) -> dict[str, Work]:
    """Every arm, or those of these names, with these settings changed; computations beside runs follow as far as they
    have them.
    """
    beside = not all(isinstance(work, Computation) for work in arms.values())
    return {
        arm: work.following(changes) if beside and isinstance(work, Computation) else work.overridden(changes)
        for arm, work in arms.items()
        if named is None or arm in named
    }


def make_plan(
    experiment: Experiment, budget: str, seeds: int | None = None, overrides: Mapping[str, Any] | None = None,
    only: str | None = None, arms: Collection[str] = (), check: bool = True,
) -> Plan:  # fmt: skip
    """Resolve arms x seeds; `arms` keeps some, `only` one run, written ARM:SEED. Changes need not suit the others.

    Without `check` settings are validated but no network is built to see whether their shapes fit.
    """
    if budget not in BUDGETS or budget not in experiment.budgets:
        raise UserError(f"{experiment.address} has no budget '{budget}': choose from {', '.join(experiment.budgets)}")
    name: BudgetName = BUDGETS[BUDGETS.index(budget)]
    chosen, overrides = experiment.budgets[name], dict(overrides or {})
    count = chosen.seeds if seeds is None else seeds
    if count < 1:
        raise UserError(f"--seeds {count}: at least one seed is needed")
    if count > MOST_SEEDS:
        raise UserError(f"--seeds {count}: at most {MOST_SEEDS:,} seeds of an arm fit into a plan")
    if unknown := [arm for arm in arms if arm not in chosen.arms]:
        raise UserError(f"--arm {unknown[0]}: this plan has {', '.join(chosen.arms)}")
    named = [only.rpartition(":")[0]] if only is not None else arms or None
    if only is not None and only not in (every := [f"{arm}:{seed}" for arm in chosen.arms for seed in range(count)]):
        raise UserError(f"--only {only}: this plan has {', '.join(every)}")
    runs = []
    for arm, config in changed_arms(chosen.arms, overrides, named).items():
        if check:
            config.check()
        fixed = {key.removeprefix("seeds."): value for key, value in overrides.items() if key.startswith("seeds.")}
        for seed in range(count):
            seeds_of_run = Seeds.all(seed).replace(**fixed)  # --set seeds.data=7: the same data for every seed
            runs.append(PlannedRun(arm, seed, config.with_seeds(seeds_of_run)))
    kept = [run for run in runs if only is None or f"{run.arm}:{run.seed}" == only]
    return Plan(experiment, name, overrides, tuple(kept), tuple(arms))
