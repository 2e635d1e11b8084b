"""Length generalization against conditional locality: points, rank correlation, verdicts and the figure."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores.length.arms import VARIANTS
from recombine.studies.local_scores.length.claims import WHOLE
from recombine.studies.local_scores.scatter import figures as figures_scatter
from recombine.studies.local_scores.scatter.claims import (
    Point,
    points,
    rank_correlation,
    seed_interval,
)

LENGTH, EXPERIMENT = EXPERIMENTS["local-scores/length"], EXPERIMENTS["local-scores/scatter"]
OF_ARM = EXPERIMENT.arm_columns(EXPERIMENT.budgets["full"].arms)
OF_ARM = {**OF_ARM, "1 1": OF_ARM["2 1"]}

MOMENTS = (50_000, 120_000, 300_000)
Model = tuple[tuple[int, int, int], tuple[float, float, float]]  # K_max and C at each checkpoint
LIKE_PAPER: dict[str, Model] = {
    "1 1": ((0, 1, 1), (0.3, 0.4, 0.45)), "1 1-3": ((1, 5, 7), (0.35, 0.7, 0.85)),
    "1 1-5": ((2, 6, 9), (0.4, 0.75, 0.9)),
    "2 1": ((0, 1, 1), (0.3, 0.4, 0.45)), "2 1-3": ((1, 1, 2), (0.3, 0.4, 0.42)),
    "2 1-5": ((1, 2, 3), (0.3, 0.42, 0.45)),
    "3 1": ((0, 0, 1), (0.28, 0.35, 0.4)), "3 1-3": ((0, 2, 3), (0.28, 0.35, 0.4)),
    "3 1-5": ((0, 3, 5), (0.28, 0.4, 0.45)),
    "2L 1": ((3, 4, 5), (1, 1, 1)), "2L 1-3": ((5, 8, 9), (1, 1, 1)), "2L 1-5": ((5, 9, 10), (1, 1, 1)),
    "3L 1": ((3, 4, 5), (1, 1, 1)), "3L 1-3": ((4, 8, 9), (1, 1, 1)), "3L 1-5": ((5, 9, 10), (1, 1, 1)),
    WHOLE: ((0, 1, 2), (0.35, 0.4, 0.5)),
}  # fmt: skip


def table(models: dict[str, Model], seeds: int = 5, unrelated: bool = False) -> pl.DataFrame:
    """Recall of 1 up to K_max, falling to chance beyond; C with a little noise for each seed, or all noise."""
    rows = []
    for number, (arm, (longest, levels)) in enumerate(models.items()):
        for seed in range(seeds):
            rng = np.random.default_rng(100 * number + seed)
            for seen, k, level in zip(MOMENTS, longest, levels, strict=True):
                c = level if level == 1 else level + rng.normal(0, 0.02)
                c = rng.uniform(0.2, 1) if unrelated else c
                own = int(np.clip(k + (rng.integers(-1, 2) if seen == MOMENTS[1] else 0), 0, 12))
                recall = [1.0 if count <= own else max(0.25, 0.8 - 0.1 * (count - own)) for count in range(1, 13)]
                found = [
                    {"labels": count, "instrument": instrument, "value": value}
                    for count, value in enumerate(recall, 1)
                    for instrument, value in (("count.recall", value), ("count.chance", 0.25))
                ]
                for how, chance in (("removed", "C"), ("gradient", "gradient.C")):
                    found += [{"instrument": f"locality.conditions.{how}.C", "value": c},
                              {"instrument": f"locality.conditions.{chance}.chance", "value": 0.27}]  # fmt: skip
                rows += [{"arm": arm, "seed": seed, "images_seen": seen, **OF_ARM[arm], **row} for row in found]
    return make_table(rows, EXPERIMENT.columns)


def judged(found: pl.DataFrame) -> dict[str, dict[str, object]]:
    return {claim["claim"]: claim for claim in judge_all(EXPERIMENT.claims, found, "local-scores", "scatter", "full")}


def test_a_table_like_the_paper_holds() -> None:
    found = judged(table(LIKE_PAPER))
    for claim in ("SC1a", "SC1b", "SC1c", "SC1d", "SC2", "SC4", "SC5a", "SC5b"):
        assert found[claim]["verdict"] == "holds", claim
    assert str(found["SC1a"]["note"]).startswith("240 points of 16 models; without any one experiment 0.")
    assert found["SC1a"]["n"] == 5


def test_an_unrelated_c_fails() -> None:
    found = judged(table(LIKE_PAPER, unrelated=True))
    for claim in ("SC1a", "SC1b", "SC1c", "SC1d", "SC2", "SC3", "SC5a", "SC5b", "SC5c"):
        assert found[claim]["verdict"] == "fails", claim
        assert abs(float(found[claim]["estimate"])) < 0.45  # type: ignore[arg-type]


def test_a_correlation_that_is_all_construction_is_seen_as_that() -> None:
    """Plain networks in which C and K_max are unrelated, and local ones: SC1a is high, SC3 says why."""
    plain = {
        arm: (k, (0.3, 0.3, 0.3)) for arm, (k, _) in LIKE_PAPER.items() if not OF_ARM[arm]["local_by_construction"]
    }
    found = judged(table(LIKE_PAPER | plain))
    assert float(found["SC1a"]["estimate"]) > 0.5  # type: ignore[arg-type]
    assert found["SC3"]["verdict"] == "fails"
    assert found["SC4"]["verdict"] != "holds"


def test_few_seeds_or_models_are_undecided() -> None:
    assert {claim["verdict"] for claim in judged(table(LIKE_PAPER, seeds=1)).values()} == {"undecided"}
    two = {arm: LIKE_PAPER[arm] for arm in ("1 1-3", "2 1-3")}
    assert "2 models" in str(judged(table(two))["SC1a"]["note"])
    none = table(LIKE_PAPER).filter(pl.col("instrument") == "count.recall")
    assert all(claim["verdict"] == "undecided" for claim in judged(none).values())
    with pytest.raises(NotMeasured):
        points(none)


def test_points_are_where_both_were_measured() -> None:
    found = table({"2L 1-3": LIKE_PAPER["2L 1-3"]}).filter(
        ~((pl.col("instrument") == "locality.conditions.removed.C") & (pl.col("images_seen") == MOMENTS[0]))
    )
    own = [point for point in points(found) if point.seed == 0]
    assert [point.seen for point in own] == list(MOMENTS[1:])
    assert [point.last for point in own] == [False, True]
    assert own[-1].longest == 9
    assert own[-1].beyond == pytest.approx((4 + (0.45 + 0.35 + 0.25) / 0.75) / 7)  # of 6 to 12 labels, up to 9 are met


def test_the_number_trained_on_in_labels_and_in_objects() -> None:
    def gains(arm: str, longest: int) -> list[float]:
        trained = OF_ARM[arm]["trained_labels"], OF_ARM[arm]["trained_objects"]
        return [Point(arm, 0, 1, longest, 0.5, True, *trained).gain(kind) for kind in ("labels", "objects")]

    assert [gains(f"2 {objects}", k) for objects, k in (("1", 1), ("1-3", 2), ("1-5", 3))] == [[0, 0], [1, -1], [2, -2]]
    assert [gains(f"2L {o}", k) for o, k in (("1", 5), ("1-3", 9), ("1-5", 10))] == [[4, 4], [8, 6], [9, 5]]
    assert gains("1 1-3", 7) == [4, 4]
    assert gains(WHOLE, 2) == [1, -1]
    assert gains("3L 1-3", 9) == [6, 6]
    exact = {arm for arm, columns in OF_ARM.items() if columns["local_by_construction"]}
    assert exact == {f"{name} {objects}" for name in ("2L", "3L") for objects in ("1", "1-3", "1-5")}


def test_the_rank_correlation_is_spearmans_and_its_interval_takes_seeds_as_wholes() -> None:
    rng = np.random.default_rng(0)
    chosen = [Point("1 1-3", seed, seen, int(rng.integers(0, 6)), float(rng.normal()), False, 3, 3)
              for seed in range(5) for seen in range(8)]  # fmt: skip
    known = spearmanr([p.gain("labels") for p in chosen], [p.c for p in chosen]).statistic
    assert rank_correlation(chosen, "labels") == pytest.approx(known)
    flat = [Point("1 1-3", seed, seen, 3, 0.1 * seen, False, 3, 3) for seed in range(5) for seen in range(8)]
    assert rank_correlation(flat, "labels") == 0
    # The same four points in every seed: drawing seeds changes nothing, however many points there are.
    same = [
        Point("1 1-3", seed, k, k, c, False, 3, 3)
        for seed in range(5)
        for k, c in ((1, 0.1), (2, 0.4), (3, 0.2), (4, 0.6))
    ]
    rho = rank_correlation(same, "labels")
    assert seed_interval(same, "labels") == pytest.approx((rho, rho))
    assert seed_interval(same[:4], "labels") is None


def test_the_figure_has_both_measures_and_says_what_is_missing() -> None:
    figure = figures_scatter.scatter(table(LIKE_PAPER, seeds=2))
    titles = [axes.get_title(loc="left").split(":")[0] for axes in figure.axes]
    assert titles == ["by K_max", "by recall"]
    assert {text.get_text() for text in figure.legends[0].get_texts()} >= {"Exp 2L whole", "Exp 1", "trained on 1-5"}
    empty = figures_scatter.scatter(table(LIKE_PAPER, seeds=1).filter(pl.col("instrument") == "count.recall"))
    assert "no model has both" in empty.axes[0].texts[0].get_text()


def test_runs_are_those_of_length_each_once() -> None:
    for name, budget in LENGTH.budgets.items():
        own = EXPERIMENT.budgets[name]
        same = {arm: work.address for arm, work in budget.arms.items() if arm not in VARIANTS}
        found = {arm: work.address for arm, work in own.arms.items()}
        assert found.items() <= same.items()
        assert sorted(found.values()) == sorted(set(same.values()))
        assert own.seeds == budget.seeds
