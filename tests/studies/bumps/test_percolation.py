"""Learning from a share of a lattice: verdicts on made-up tables, the nearest-label baseline, figures."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from recombine.lab.claims import judge_all
from recombine.lab.report.kit.maps import draw_map, places_of
from recombine.lab.table import make_table
from recombine.runs.bump_percolation import PercolationConfig
from recombine.runs.bumps import BumpsRun
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.nearest_label import sampled_nearest_label
from recombine.studies.bumps.percolation.claims import (
    BLOCK,
    CLAIMS,
    PIXELS,
    THEORY,
    UNTRAINED,
    accuracies,
    half_learnt,
    place_ratios,
)
from recombine.studies.bumps.percolation.experiment import FULL, LAMBDAS, SMOKE, WIDTHS, arms, named
from recombine.studies.bumps.percolation.findings import numbers
from recombine.worlds.holdouts import nested_order

EXPERIMENT = EXPERIMENTS["bumps/percolation"]
Model = Callable[[float, float], float]
"""Sigma and lambda -> share of labels not trained on that are right."""
CRITICAL = {0.3: 0.18, 0.5: 0.09, 0.7: 0.05}  # made up, at threshold 0.005; 0.1 never, 1.0 at once
LEARNT = {0.1: 0.7, 0.3: 0.25, 0.5: 0.12, 0.7: 0.07, 1.0: 0.03}


def percolates(width: float, lam: float) -> float:
    """Learnt a bit above the critical lambda of each width; the narrowest at 0.7."""
    return 1 / (1 + (LEARNT[width] / lam) ** 6)


def nearest_label(width: float, lam: float) -> float:
    return 0.0


def table(model: Model, seeds: int = 5, theory: bool = True) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for width, lam, seed in product(WIDTHS, LAMBDAS, range(seeds)):
        head = {"arm": named(width, lam), "width": width, "share": lam, "seed": seed, "images_seen": 1000}
        right, shake = model(width, lam), 0.002 * seed * (model is not nearest_label)
        accuracy, loss, near = (head | {"instrument": name} for name in ("darkest.both", "loss", "neighbours"))
        rows.append(accuracy | {"region": "all", "value": lam + (1 - lam) * (right + shake)})
        straight = 0.01 * lam + 0.0001 * seed if right else 0.01 + 1e-4 * lam**9
        rows.append(loss | {"region": "known", "value": straight})
        if lam < 1:
            rows.append(accuracy | {"region": "new", "value": right + shake})
            straight = 0.02 + 0.01 * lam + 0.0001 * seed if right else 0.02 - 0.01 * lam
            rows.append(loss | {"region": "new", "value": straight})
        rows.append(near | BLOCK | {"value": 0.4 + 0.5 * right + 0.01 * seed})
        rows.append(near | UNTRAINED | {"value": 0.4 + 0.01 * seed})
        rows.append(near | PIXELS | {"value": 0.5})
    if theory:
        for seed, width, (threshold, later) in product(range(seeds), WIDTHS, ((0.005, 1.0), (0.05, 4.0))):
            head = {"arm": THEORY, "seed": seed, "width": width, "threshold": threshold}
            rows.append(head | {"instrument": "percolates", "value": float(width > 0.1)})
            value = later * CRITICAL[width] if width in CRITICAL else None
            rows.append(head | {"instrument": "critical", "value": value})
    return make_table(rows, EXPERIMENT.columns)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "percolation", "full")}


def test_the_paper_holds_where_learning_follows_percolation() -> None:
    found = verdicts(table(percolates))
    assert found.pop("PC5-0.05") == "fails"  # four times as late: one threshold fits, not the other
    assert set(found.values()) == {"holds"}


def test_the_nearest_label_is_nothing_but_the_line() -> None:
    found = verdicts(table(nearest_label))
    assert found == {"PC0": "holds", "PC1": "fails", "PC2": "fails", "PC3": "holds", "PC3b": "fails",
                     "PC4": "fails", "PC5-0.005": "undecided", "PC5-0.05": "undecided", "PC6": "fails",
                     "PC6v": "fails", "PC7": "fails", "PC7s": "fails", "PC7n": "fails"}  # fmt: skip


def test_an_order_turned_round_and_bumps_learnt_from_few_refute_it() -> None:
    found = verdicts(
        table(lambda width, lam: percolates({0.1: 1.0, 0.3: 0.7, 0.5: 0.5, 0.7: 0.3, 1.0: 0.1}[width], lam))
    )
    assert (found["PC1"], found["PC3"], found["PC4"]) == ("fails", "fails", "fails")


def test_few_seeds_and_no_theory_leave_it_open() -> None:
    assert set(verdicts(table(percolates, seeds=4)).values()) == {"undecided"}
    found = verdicts(table(percolates, theory=False))
    assert [found[name] for name in ("PC1", "PC2", "PC4", "PC5-0.005")] == ["holds", "holds", "undecided", "undecided"]
    assert set(verdicts(make_table([], EXPERIMENT.columns)).values()) == {"undecided"}


def test_half_is_read_where_the_other_labels_pass_it() -> None:
    found = half_learnt(table(percolates, seeds=1))
    assert {width: own[0].outcome for width, own in found.items()} == {
        0.1: "crosses", 0.3: "crosses", 0.5: "crosses", 0.7: "crosses", 1.0: "below"
    }  # fmt: skip
    assert found[0.1][0].value == pytest.approx(0.7, abs=0.03)
    assert found[0.3][0].value == pytest.approx(0.25, abs=0.04)
    ratios = place_ratios(table(percolates, seeds=1), 0.005)[0]
    assert sorted(ratios) == [0.1, 0.3, 0.5, 0.7]  # 0.1 never percolates and counts as 1, 1.0 always did
    assert ratios[0.3] == pytest.approx(found[0.3][0].value / 0.18)


def test_accuracies_by_width_and_share() -> None:
    found = accuracies(table(nearest_label, seeds=2))
    assert list(found) == [(width, lam) for width in WIDTHS for lam in LAMBDAS]
    assert found[0.3, 0.2] == {0: pytest.approx(0.2), 1: pytest.approx(0.2)}


def test_numbers_of_the_findings() -> None:
    found = numbers(table(percolates))
    assert found["critical_narrow"] == pytest.approx(4 * 0.18)
    assert found["early_images"] == 1000
    assert found["early_wide"] == pytest.approx(1.0)


@pytest.mark.parametrize("width", [0.1, 1.0])
def test_the_nearest_label_scores_lambda_exactly(width: float) -> None:
    run = override(FULL, {"world.pixels": 8, "world.width": width, "split.share": 0.5})
    found = {(row.get("region"), row["instrument"]): row["value"] for row in sampled_nearest_label(run, 1.0).rows()}
    assert found["all", "darkest.both"] == 0.5
    if width == 1:  # narrower bumps are one pixel, which says nothing of places between pixels
        assert found["all", "fine.both"] == 0.5


def test_the_sets_are_those_whose_percolation_is_computed() -> None:
    """Nested in lambda, the same at every width, and in the order that the theory takes its sites in."""
    side = FULL.world.pixels
    made = arms(FULL, (0.1, 1.0), (0.1, 0.35))
    sets = {
        name: {tuple(label) for label in run.split.labels(run.world, 3).tolist()}
        for name, run in made.items()
        if isinstance(run, BumpsRun)
    }
    assert sets[named(0.1, 0.1)] == sets[named(1.0, 0.1)] < sets[named(1.0, 0.35)] == sets[named(0.1, 0.35)]
    first = nested_order(side**2, 3)[: round(0.1 * side**2)]
    sites = torch.stack([first // side, first % side], 1) + 1
    assert sets[named(0.1, 0.1)] == {tuple(map(float, site)) for site in sites.tolist()}
    theory = made[THEORY]
    assert isinstance(theory, PercolationConfig)
    assert theory.pixels == side


def test_budgets() -> None:
    for budget in EXPERIMENT.budgets.values():
        *runs, theory = budget.arms
        assert theory == THEORY
        assert len(runs) == len(budget.arms) - 1 == len({run.address for run in budget.arms.values()}) - 1
        for run in budget.arms.values():
            run.check()
    full = EXPERIMENT.budgets["full"]
    assert full.seeds >= 5
    assert len({run.total for name, run in full.arms.items() if name != THEORY}) == 1
    columns = EXPERIMENT.arm_columns(full.arms)
    assert columns[named(0.3, 0.2)] == {"width": 0.3, "share": 0.2}
    assert columns[THEORY] == {}


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    assert EXPERIMENT.draw is not None
    empty = make_table([], EXPERIMENT.columns)
    for found in (table(percolates), table(nearest_label, seeds=1), table(percolates, theory=False), empty):
        drawn = EXPERIMENT.draw(found, SMOKE)
        assert {name: len(drawing.figure.axes) for name, drawing in drawn.items()} == {
            "figure": 4, "sets": 2, "losses": 3, "maps": len(WIDTHS) * len(LAMBDAS) if len(found) else 1,
        }  # fmt: skip


def test_a_map_is_drawn_as_the_grid_of_its_places() -> None:
    rows = [
        {"arm": named(0.3, 1.0), "seed": 0, "images_seen": 1000, "width": 0.3, "share": 1.0, "x": float(x),
         "y": float(y), "coordinate": i, "instrument": "map", "value": float((x, y, 0)[i - 1])}
        for x, y, i in product((1, 3, 5), (1, 3), (1, 2, 3))
    ]  # fmt: skip
    places = places_of(make_table(rows, EXPERIMENT.columns), width=0.3, share=1.0, seed=0)
    assert {place: tuple(value) for place, value in places.items()} == {place: place for place in places}
    axes = Figure().subplots()
    draw_map(axes, places, held_out=(2, 4))
    [lines] = [own for own in axes.collections if isinstance(own, LineCollection)]
    assert len(lines.get_segments()) == 3 + 4  # three in y, two for each row in x
    assert all(np.abs(np.diff(segment, axis=0)).sum() == 2 for segment in lines.get_segments())
    assert [tuple(point) for point in np.asarray(axes.lines[-1].get_xydata()).tolist()] == [(3, 1), (3, 3)]
    assert places_of(make_table([], EXPERIMENT.columns), width=0.3) == {}
