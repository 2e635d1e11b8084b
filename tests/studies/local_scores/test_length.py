"""Length generalization: arms, rules on tables where the answer is known, and the figure."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from recombine.denoisers.configs import LocalConfig, UNetConfig
from recombine.instruments.scenes.counting import (
    CHANCE,
    CHANCE_ISOLATED,
    OBJECTS,
    RECALL,
    RECALL_CLOSE,
    RECALL_ISOLATED,
    SHARE_ISOLATED,
)
from recombine.lab.claims import judge_all
from recombine.lab.experiment import make_plan
from recombine.lab.table import make_table
from recombine.runs.scenes import ScenesRun
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores._shared import label_recall
from recombine.studies.local_scores._shared.label_recall import COLUMNS, arm_of
from recombine.studies.local_scores._shared.recall_panels import CONTROLS, IN_OTHER_WAYS
from recombine.studies.local_scores.length import claims as claims_length
from recombine.studies.local_scores.length import figures as figures_length
from recombine.studies.local_scores.length.arms import EMBEDDED, FULL, VARIANTS, variants
from support.pictures import render
from support.tables import rows_of

EXPERIMENT = EXPERIMENTS["local-scores/length"]

PAPER = {
    "1 1-3": 7, "2 1-3": 2, "3 1-3": 3, "2L 1-3": 9, "3L 1-3": 9, "2 1": 1, "2L 1": 5, "2L whole 1-3": 3,
    "2L far 1-3": 3, "2 1-5": 3, "2L 1-5": 10,
    "1 channel 1-3": 9, "2 channel 1-3": 9, "2L channel 1-3": 9,
    "2L multiplied 1-3": 9, "2L linear 1-3": 9, "3 fixed 1-3": 3,
}  # fmt: skip


def table(longest: Mapping[str, int], seeds: int = 5, finder: float = 0.99) -> pl.DataFrame:
    """Recall is high up to a number of labels; that of isolated labels always, in local networks."""

    def value(row: Mapping[str, Any]) -> float:
        k, reach = row["labels"], longest[row["arm"]]
        recall = 0.97 if k <= reach else 0.5
        alone = 0.95 if row["arm"].split(" ")[0].endswith("L") else recall
        return {
            RECALL: recall, RECALL_ISOLATED: alone, RECALL_CLOSE: recall / 2, SHARE_ISOLATED: 1 / k, CHANCE: 0.2,
            CHANCE_ISOLATED: 0.2, OBJECTS: float(min(k, reach)), f"calibration.{RECALL}": finder,
        }[row["instrument"]]  # fmt: skip

    names = [RECALL, RECALL_ISOLATED, RECALL_CLOSE, SHARE_ISOLATED, CHANCE, CHANCE_ISOLATED, OBJECTS]
    common = {"arm": list(longest), "seed": range(seeds), "labels": range(1, 13)}
    rows = rows_of(value, **common, instrument=names, images_seen=100)
    return make_table(rows + rows_of(value, **common, instrument=f"calibration.{RECALL}", images_seen=0), COLUMNS)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {each["claim"]: each["verdict"] for each in judge_all(EXPERIMENT.claims, found, "s", "e", "full")}


def test_what_the_paper_says_holds_on_its_own_numbers() -> None:
    assert set(verdicts(table(PAPER)).values()) == {"holds"}


def test_other_rules_read_other_numbers() -> None:
    crowded = table(PAPER).with_columns(
        value=pl.when(pl.col("instrument") == RECALL).then(0.8).otherwise(pl.col("value"))
    )
    assert label_recall.longest(crowded, "1 1-3") == dict.fromkeys(range(5), 0)
    assert label_recall.longest(crowded, "1 1-3", RECALL, 0.75) == dict.fromkeys(range(5), 12)
    assert label_recall.longest(crowded, "1 1-3", OBJECTS, 1.0) == dict.fromkeys(range(5), 7)
    assert claims_length.off_the_paper(crowded, OBJECTS, 1.0) == 0
    assert claims_length.off_the_paper(crowded) == pytest.approx(sum(claims_length.PAPER.values()) / 9)


def test_models_that_go_nowhere_fail() -> None:
    found = verdicts(table(dict.fromkeys(PAPER, 3)))
    assert {name for name, verdict in found.items() if verdict == "fails"} == {
        "LN1",
        "LN2a",
        "LN2b",
        "LN2c",
        "LN3",
        "LN3b",
        "LN3c",
        "LN3d",
        "LN4",
        "LN4b",
        "LN4d",
        *(f"LN5{letter}" for letter in "abcdefg"),
        "LN7a",
        "LN8b",
        "LN8c",
    }


def test_the_order_is_strict_above_and_allows_a_tie_below() -> None:
    assert verdicts(table({**PAPER, "1 1-3": PAPER["2L 1-3"]}))["LN1"] == "fails"
    assert verdicts(table({**PAPER, "2 1-3": PAPER["3 1-3"]}))["LN1"] == "holds"


def test_models_that_go_everywhere_fail_where_the_paper_s_do_not() -> None:
    found = verdicts(table(dict.fromkeys(PAPER, 12)))
    assert {name for name, verdict in found.items() if verdict == "fails"} == {
        "LN1", "LN2d", "LN2e", "LN3", "LN3b", "LN3d", "LN4", "LN4b", "LN4c", "LN4d",
        *(f"LN5{letter}" for letter in "abcdefg"),
        "LN6c", "LN6d", "LN6e", "LN7a", "LN7c", "LN8a", "LN8c",
    }  # fmt: skip


def test_a_control_that_learnt_nothing_proves_nothing() -> None:
    blind, seeing = (verdicts(table({**PAPER, "2L whole 1-3": reach})) for reach in (0, 1))
    assert {blind[name] for name in ("LN4", "LN4b", "LN4c")} == {"undecided"}
    assert {seeing[name] for name in ("LN4", "LN4b", "LN4c")} == {"holds"}


def test_models_that_learnt_nothing_prove_nothing() -> None:
    """Rules of the kind "at most", and comparisons with them, would pass them."""
    found = verdicts(table({**PAPER, "2 1-3": 0, "1 1-3": 0}))
    assert {found[name] for name in ("LN2d", "LN5a", "LN5c", "LN5g")} == {"undecided"}
    nothing = table(PAPER).with_columns(
        value=pl.when(pl.col("instrument") == RECALL_ISOLATED).then(0.2).otherwise(pl.col("value"))
    )
    assert verdicts(nothing)["LN6c"] == "undecided"


def test_a_blind_finder_and_missing_arms_are_said() -> None:
    assert verdicts(table(PAPER, finder=0.8))["LN0f"] == "fails"
    found = verdicts(table({"1 1-3": 7}))
    assert found["LN1"] == found["LN3"] == "undecided"


def test_full_has_every_experiment_and_training_set_and_the_control() -> None:
    arms = EXPERIMENT.budgets["full"].arms
    assert set(arms) == {f"{e} {o}" for e in ("1", "2", "3", "2L", "3L") for o in ("1", "1-3", "1-5")} | {
        "2L whole 1-3", "2L far 1-3", "1 channel 1-3", "2 channel 1-3", "2L channel 1-3",
        "2L multiplied 1-3", "2L linear 1-3", "3 fixed 1-3",
    }  # fmt: skip
    local, whole = arms["2L linear 1-3"], arms["2L whole 1-3"]
    assert isinstance(local, ScenesRun)
    assert isinstance(whole, ScenesRun)
    assert isinstance(local.network, LocalConfig)
    assert isinstance(whole.network, LocalConfig)
    assert (local.network.radius, whole.network.radius) == (2, 8)
    assert local.network.replace(radius=8) == whole.network
    assert local.network.replace(label_radius=8) == arms["2L far 1-3"].network  # type: ignore[attr-defined]
    assert (local.code, local.training, local.split) == (whole.code, whole.training, whole.split)
    assert (
        2 * whole.network.radius + 1
    ) * 4 >= FULL.world.pixels  # as large as the image; near its border it misses some
    assert arms["3 1"].labels.form == "list"  # type: ignore[attr-defined]
    assert {run.config.split.objects for run in make_plan(EXPERIMENT, "full", 1).runs} == {
        (1,),
        (1, 2, 3),
        (1, 2, 3, 4, 5),
    }  # type: ignore[attr-defined]


@pytest.mark.parametrize("arms", [PAPER, {"1 1-3": 7}])
def test_the_figure_is_drawn(arms: Mapping[str, int]) -> None:
    figure = figures_length.recall_over_count(table(arms, seeds=2))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len(titles) == len({arm.rsplit(" ", 1)[1] for arm in arms})
    assert "trained on 1-3 objects\nbest at 12: " in " ".join(titles)


def test_isolated_labels_are_weighed_by_their_number() -> None:
    found = claims_length.isolated(table({"1 1-3": 7}), "1 1-3", (7, 8))
    assert found[0] == pytest.approx((0.97 + 0.5) / 2)  # a share of 1/K of K labels: one of each
    assert label_recall.beyond(table({"1 1-3": 7}), "1 1-3")[0] == pytest.approx((4 * 0.97 + 5 * 0.5) / 9)


def test_labels_enter_in_other_ways() -> None:
    runs = variants("smoke").values()
    one, two, local, gated, linear, three = (run for run in runs if isinstance(run, ScenesRun))
    assert one.network.inner.condition.entry == two.network.inner.condition.entry == "spatial"  # type: ignore[union-attr]
    assert (one.labels.labelled, two.labels.labelled, local.labels.labelled, three.labels.order) == (
        "all",
        "one",
        "one",
        "fixed",
    )
    assert isinstance(local.network, LocalConfig)
    assert isinstance(local.network.inner, UNetConfig)
    assert local.network.mapped
    assert isinstance(gated.network, LocalConfig)
    assert isinstance(gated.network.inner, UNetConfig)
    assert gated.network.inner.condition.effect == "multiply"
    assert isinstance(linear.network, LocalConfig)
    assert isinstance(linear.network.inner, UNetConfig)
    assert linear.network.inner.condition == EMBEDDED
    assert linear.code == "window"
    assert set(VARIANTS) <= set(EXPERIMENT.budgets["full"].arms)


@pytest.mark.parametrize("arms", [PAPER, {"2L linear 1-3": 7}, {"1 1-3": 7}])
def test_controls_are_drawn(arms: Mapping[str, int]) -> None:
    figure = figures_length.controls(table(arms, seeds=2))
    drawn = {str(line.get_label()) for line in figure.axes[0].lines if str(line.get_label()).startswith("Exp")}
    shown = ("2", *CONTROLS)
    assert drawn == {f"Exp {name}" for name in shown if arm_of(name, "1-3") in arms}


@pytest.mark.parametrize("arms", [PAPER, {"1 1-3": 7}, {"2 1": 1}])
def test_isolated_labels_and_variants_are_drawn(arms: Mapping[str, int]) -> None:
    found = table(arms, seeds=2)
    isolated, others = figures_length.isolated(found), figures_length.variants(found)
    assert (len(isolated.axes), len(others.axes)) == (2, 3)
    drawn = {str(line.get_label()) for line in others.axes[0].lines if str(line.get_label()).startswith("Exp")}
    assert drawn == {f"Exp {name}" for name in IN_OTHER_WAYS if arm_of(name, "1-3") in arms}


@pytest.mark.parametrize("arms", [PAPER, {"2 1": 1}])
def test_rules_are_drawn(arms: Mapping[str, int]) -> None:
    figure = figures_length.rules(table(arms, seeds=2))
    last = figure.axes[-1]
    assert last.get_title(loc="left") == ("K_max; Exp 1: 7.0, paper 7" if "1 1-3" in arms else "K_max by four rules")
    assert [line.get_ydata()[0] for line in last.lines if len(line.get_xdata()) == 2] == list(
        claims_length.PAPER.values()
    )
    by_count = [line for line in last.lines if line.get_marker() == "D" and len(line.get_xdata()) == 1]
    assert [line.get_ydata()[0] for line in by_count] == [
        arms[arm] for arm in map(_arm, claims_length.PAPER) if arm in arms
    ]
    assert render(figure)


def _arm(entry: tuple[str, str]) -> str:
    return arm_of(*entry)


def test_sheets_share_the_arms_on_one_to_three_objects() -> None:
    """Every such arm is on one of the two sheets; 2L linear is beside the controls."""
    arms = EXPERIMENT.budgets["full"].arms
    first, second = ({arm for arm in arms if arm in names} for names in (figures_length.FIRST, figures_length.SECOND))
    assert first | second == {arm for arm in arms if arm.endswith(" 1-3")}
    assert not first & second
    assert {"2L linear 1-3", "2L far 1-3", "2L whole 1-3", "1 1-3"} <= first
