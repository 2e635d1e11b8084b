"""A band is held out: the baseline in closed form, prompts between pixels, and verdicts on made-up tables."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.instruments.bumps.band_evaluation import BAND, across, bin_of
from recombine.lab.claims import judge_all
from recombine.lab.execute.jobs import train_runs
from recombine.lab.store import Store
from recombine.lab.table import make_table
from recombine.runs.bump_baselines import NearestLabel
from recombine.runs.bumps import BumpsRun
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED, baseline_of, nearest_label
from recombine.studies.bumps.holes.lesion.claims import CLAIMS, expected, over_widths, widths_of
from recombine.studies.bumps.holes.lesion.experiment import FULL, SMOKE, WIDTHS, arms, of_arm
from recombine.training.execution import Execution
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import HELD_OUT, SEEN, Band, LabelSplit

EXPERIMENT = EXPERIMENTS["bumps/lesion"]
Right = Callable[[float], float]  # how often a bump so far inside is right


def table(right: Right, seen: float = 0.98, seeds: int = 5) -> pl.DataFrame:
    """Every width, of a model that is right so often at each depth; the baseline as it is."""
    rows = []
    for width in WIDTHS:
        for model, chance, count in ((TRAINED, right, seeds), (NEAREST, _near, 1)):
            inside = [width * (k + 0.5) / 64 for k in range(32)]
            depths: dict[float, list[float]] = {}
            for each in inside:
                depths.setdefault(bin_of(each), []).append(chance(each))
            values = [({"depth": end}, sum(each) / len(each)) for end, each in depths.items()]
            regions = {BAND: sum(map(chance, inside)) / len(inside), SEEN: seen, HELD_OUT: 0.5, "all": 0.9}
            rows += [
                {"arm": f"{model} W={width:g}", "model": model, "width": width, "seed": seed, **where,
                 "images_seen": 100 if model == TRAINED else None, "instrument": f"{how}.both",
                 "value": min(1.0, value + 0.002 * seed)}
                for seed in range(count)
                for where, value in [*values, *(({"region": name}, value) for name, value in regions.items())]
                for how in ("darkest", "fine")
            ]  # fmt: skip
    return make_table(rows, EXPERIMENT.columns)


def _near(inside: float) -> float:
    return float(inside < 1)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "lesion", "full")}


def test_the_baseline_shows_what_the_paper_says_and_nothing_beyond() -> None:
    found = verdicts(table(lambda inside: 0.98 * _near(inside)))
    assert [found[name] for name in ("L1", "L2", "L3", "L4")] == ["holds"] * 4
    assert [found[name] for name in ("L1n", "L2n")] == ["fails"] * 2


def test_a_model_that_reaches_further_in_is_beyond_the_baseline() -> None:
    found = verdicts(table(lambda inside: 0.97 / (1 + math.exp(3 * (inside - 2)))))
    assert set(found.values()) == {"holds"}


def test_a_model_that_bridges_every_band_refutes_the_paper() -> None:
    found = verdicts(table(lambda inside: 0.95))
    assert [found[name] for name in ("L1", "L2", "L3", "L1n", "L2n")] == [
        "fails",
        "fails",
        "undecided",
        "holds",
        "holds",
    ]


def test_one_sudden_fall_is_not_gradual() -> None:
    cliff = table(lambda inside: 1.0).with_columns(
        pl.when((pl.col("width") >= 4) & (pl.col("model") == TRAINED)).then(0.1).otherwise("value").alias("value")
    )
    assert verdicts(cliff)["L3"] == "fails"


def test_nothing_is_judged_of_what_was_not_measured() -> None:
    whole = table(lambda inside: 0.9)
    one = whole.filter(pl.col("width") == 4)
    assert set(verdicts(one).values()) == {"undecided", "holds"}  # what was seen is there
    assert set(verdicts(whole.clear()).values()) == {"undecided"}
    unsaid = verdicts(whole.filter(pl.col("model") == TRAINED))
    assert unsaid["L1n"] == "undecided"


@pytest.mark.parametrize("width", [1.0, 2.0, 3.5, 6.0])
def test_the_baseline_is_right_in_the_outer_pixels(width: float) -> None:
    run = override(FULL, {"world.pixels": 16, "split.held_out.across": width, "evaluation.columns": 64})
    found = {
        (row.get("region", row.get("depth")), row["instrument"]): row["value"] for row in nearest_label(run).rows()
    }
    assert found[SEEN, "fine.both"] == found[SEEN, "darkest.both"] == 1
    assert found[BAND, "fine.both"] == pytest.approx(expected(width), abs=0.05)
    assert found[0.5, "fine.both"] == 1
    if width > 3:
        assert found[1.5, "fine.both"] == 0


def test_prompts_lie_in_the_band_from_edge_to_edge() -> None:
    world, split = BumpsWorld(), LabelSplit(held_out=Band(across=1.0))
    labels = across(world, split, 32)
    assert len(labels) == 1024  # as many as pixels: one shape for the network
    assert set(split.region(world, labels)) == {HELD_OUT}
    assert labels[:, 0].mean().item() == pytest.approx(16.5)
    assert labels[:, 0].min().item() == pytest.approx(16 + 1 / 64)
    assert len(across(world, split, 4, every=8)) == 16


def test_depths_are_named_by_where_they_end() -> None:
    assert Counter(bin_of(k / 8) for k in range(1, 9)) == {0.5: 4, 1.0: 4}


def test_a_smoke_run_is_measured_across_its_band(tmp_path: Path) -> None:
    run = override(SMOKE, {"split.held_out.across": 4.0})
    store = Store(tmp_path)
    train_runs([run], store, Execution.plain("cpu"), lambda news: None)
    rows = store.run(run.address).rows()
    last = {
        (r.get("region", r.get("depth")), r["instrument"]): r["value"] for r in rows if r["images_seen"] == run.total
    }
    assert {BAND, 0.5, 1.5, SEEN, HELD_OUT, "all"} <= {place for place, _ in last}
    assert 0 <= last[BAND, "fine.both"] <= last[BAND, "fine.x"] <= 1
    null = {(row.get("region", row.get("depth")), row["instrument"]) for row in nearest_label(run).rows()}
    assert null <= set(last)  # the baseline is asked for the same


def test_the_baseline_takes_over_what_it_shares_with_its_run() -> None:
    null = nearest_label(SMOKE)
    changed = null.following({"training.images": 64, "world.pixels": 16})
    assert changed == null.replace(world={**null.world.model_dump(), "pixels": 16})


def test_only_a_band_can_be_asked_across() -> None:
    with pytest.raises(UserError, match="only a band can be asked across"):
        override(SMOKE, {"split.held_out": {"kind": "square", "side": 2}}).check()


def test_every_budget_has_each_width_beside_its_baseline() -> None:
    for budget in EXPERIMENT.budgets.values():
        trained = {arm: work for arm, work in budget.arms.items() if isinstance(work, BumpsRun)}
        nulls = {arm: work for arm, work in budget.arms.items() if isinstance(work, NearestLabel)}
        assert set(nulls) == set(map(baseline_of, trained))
        assert set(budget.arms) == {*trained, *nulls}
        for work in budget.arms.values():
            work.check()
        assert [of_arm(work)["width"] for work in trained.values()] == [
            of_arm(work)["width"] for work in nulls.values()
        ]
    assert EXPERIMENT.budgets["full"].seeds >= 5
    full = arms(FULL, WIDTHS)
    assert len({work.address for work in full.values()}) == len(full)


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    whole = table(lambda inside: 0.9 * _near(inside))
    assert widths_of(whole) == list(WIDTHS)
    assert over_widths(whole, BAND)[1].shape == (5, 8)
    assert EXPERIMENT.draw is not None
    for part in (whole, whole.filter(pl.col("width") == 4, pl.col("seed") == 0), whole.clear()):
        drawn = EXPERIMENT.draw(part, FULL)
        assert len(drawn["figure"].figure.axes) == 3
        assert len(drawn["maps"].figure.axes) == (3 if part is whole else 1)  # 1, 3.5 and 8, as far as they are there
