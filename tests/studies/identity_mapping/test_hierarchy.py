"""The lattice of concepts: its pairs, rules on tables made by hand, rows at smoke, the figure."""

from typing import Any

import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.lab.table import make_table, select
from recombine.runs.identity.hierarchy import EPOCHS, HierarchyConfig, every_probe, pairs
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.hierarchy.claims import CLAIMS, median_errors
from recombine.studies.identity_mapping.hierarchy.figures import draw, places
from recombine.worlds.mixture import MixtureWorld
from support import tables
from support.pictures import render, words

EXPERIMENT = EXPERIMENTS["identity-mapping/hierarchy"]


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def shares(worst: float, arm: str = "linear", which: str = "all", starts: int = 20) -> pl.DataFrame:
    """All pairs in order at epochs 1 and 5, this share of them at epoch 3."""
    rows = tables.rows_of(
        lambda row: worst if row["epoch"] == 3 else 1.0,
        instrument="ordered.by_start", arm=arm, seed=0, pairs=which, epoch=EPOCHS, start=range(starts),
    )  # fmt: skip
    return make_table(rows, EXPERIMENT.columns)


def errors(broken: bool, late: float = 0.006) -> pl.DataFrame:
    """Errors that grow with the number of concepts; or with one pair out of order, in one net at one epoch."""

    def value(row: dict[str, Any]) -> float:
        wrong = broken and (row["arm"], round(row["epoch"]), row["combination"]) == ("relu", 5, "1000")
        return 2.5 if wrong else float(row["combination"].count("1"))

    rows = tables.rows_of(
        value, instrument="error", arm=["linear", "relu"], seed=0, epoch=[epoch + late for epoch in EPOCHS],
        combination=tables.nodes_of(4),
    )  # fmt: skip
    return make_table(rows, EXPERIMENT.columns)


# Pairs


def test_four_concepts_have_65_pairs_50_of_them_without_the_empty_one() -> None:
    names = list(every_probe(HierarchyConfig().world))
    found = set(pairs(names))
    assert (names[0], len(names), len(found)) == ("0000", 16, 65)
    assert len([u for u, _ in found if u != "0000"]) == 50
    assert ("1000", "1011") in found
    assert ("1000", "0111") not in found


def test_the_probes_are_sums_of_centres() -> None:
    world = MixtureWorld(dimensions=3, signals=(1, 2), spreads=(0.1, 0.1))
    assert torch.stack(list(every_probe(world).values())).tolist() == [[0, 0, 0], [0, 2, 0], [1, 0, 0], [1, 2, 0]]


# Rules


@pytest.mark.parametrize(("worst", "verdict"), [(1.0, "holds"), (0.96, "holds"), (0.9, "fails")])
@pytest.mark.parametrize(
    ("claim", "arm", "which"),
    [("S10", "linear", "all"), ("S10r", "relu", "all"), ("S10o", "linear origin", "all"),
     ("S10p", "relu origin", "all"), ("S10b", "linear no bias", "all"), ("S10c", "relu no bias", "all"),
     ("S10e", "linear", "not empty"), ("S10f", "relu", "not empty"),
     ("S10g", "linear no bias", "ties allowed"), ("S10h", "linear", "ties allowed")],
)  # fmt: skip
def test_the_worst_epoch_counts(claim: str, arm: str, which: str, worst: float, verdict: str) -> None:
    answer = judge(claim, shares(worst, arm, which))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, pytest.approx(worst), 20)
    assert f"all pairs in {20 if worst == 1 else 0} of 20 starts" in answer["note"]


def test_an_epoch_that_was_not_measured_decides_nothing() -> None:
    lacking = shares(1.0).filter(pl.col("epoch") < 5)
    assert tables.undecided(judge("S10", lacking), "epochs")


def test_pairs_of_medians() -> None:
    whole, broken = judge("S10m", errors(broken=False)), judge("S10m", errors(broken=True))
    assert (whole["verdict"], whole["estimate"], whole["n"]) == ("holds", 1.0, 2 * 3 * 65)
    assert (broken["verdict"], broken["note"]) == ("fails", "out of order: 1000<1001, 1000<1010, 1000<1100")
    assert broken["estimate"] == pytest.approx(1 - 3 / 390)


def test_the_observation_nearest_to_an_epoch_is_taken_if_it_is_near() -> None:
    table = errors(broken=False)
    assert set(median_errors(table, "linear")) == set(EPOCHS)
    assert median_errors(errors(broken=False, late=0.3), "linear") == {}


def test_an_empty_table_decides_nothing() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, make_table([], EXPERIMENT.columns)))


# Rows and the figure


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    arms = EXPERIMENT.budgets["smoke"].arms
    rows = [
        {"arm": arm, "seed": 0, **row}
        for arm, config in arms.items()
        if isinstance(config, HierarchyConfig)
        for row in config.rows()
    ]
    return make_table(rows, EXPERIMENT.columns)


def test_smoke_has_what_the_claims_need(smoke: pl.DataFrame) -> None:
    for claim in CLAIMS:
        assert judge(claim.id, smoke)["n"] >= 5


def test_shares_by_start_and_by_pair_are_of_the_same_pairs(smoke: pl.DataFrame) -> None:
    for arm in ("linear", "relu"):
        by_start = select(smoke, "ordered.by_start", arm=arm, epoch=3.0, pairs="all")["value"]
        by_pair = select(smoke, "ordered.by_pair", arm=arm, epoch=3.0)["value"]
        assert (len(by_start), len(by_pair)) == (6, 65)
        assert by_start.mean() == pytest.approx(by_pair.mean())


def test_a_margin_never_puts_a_pair_out_of_order(smoke: pl.DataFrame) -> None:
    strict, clear = (
        select(smoke, "ordered.by_start", pairs=which).sort("arm", "start", "epoch")["value"]
        for which in ("all", "ties allowed")
    )
    assert len(strict) == len(clear) == 6 * 6 * 3
    assert (clear >= strict).all()
    assert (clear > strict).any()


def test_without_a_bias_and_from_rest_the_order_is_exact() -> None:
    """The error of v is the sum over its concepts of mu_p^2 exp(-2 a_p t): a part never has more."""
    config = HierarchyConfig(count=200, starts=5, datasets=1, net={"layers": 1, "bias": False, "scale": 0.0})
    kept = [r["value"] for r in config.rows() if r["instrument"].startswith("ordered")]
    assert len(kept) > 200
    assert set(kept) == {1.0}


def test_the_full_budget_has_both_nets_and_enough_starts() -> None:
    arms = EXPERIMENT.budgets["full"].arms
    for arm, config in arms.items():
        assert isinstance(config, HierarchyConfig)
        assert (config.starts, config.world.dimensions, config.world.signals) == (200, 64, (1, 2, 3, 4))
        assert config.net.layers == (2 if arm.startswith("relu") else 1)
        assert config.net.activation == ("relu" if arm.startswith("relu") else "linear")
        assert config.world.origin == arm.endswith("origin")
        assert config.net.bias != arm.endswith("no bias")


@pytest.mark.parametrize("signals", [[1.0], [1.0] * 7])
def test_a_lattice_has_two_to_six_concepts(signals: list[float]) -> None:
    config = override(HierarchyConfig(), {"world": {"signals": signals, "spreads": [0.5] * len(signals)}})
    with pytest.raises(UserError, match="2 to 6 signals"):
        config.check()


def test_a_combination_is_drawn_above_its_parts() -> None:
    where = places(list(tables.nodes_of(4)))
    assert len(set(where.values())) == 16
    assert [where[node][1] for node in ("0000", "1000", "0011", "1101", "1111")] == [0, 1, 2, 3, 4]


def test_figures_show_every_combination(smoke: pl.DataFrame) -> None:
    drawn = draw(smoke, None)
    assert set(drawn) == {"figure", "relu", "no-bias"}
    for drawing in drawn.values():
        render(drawing.figure)
        text = words(drawing.figure)
        assert all(text.count(node) >= 3 for node in tables.nodes_of(4))
        assert "n = 6 starts" in " ".join(text.split())


def test_a_figure_of_nothing_says_so() -> None:
    for drawing in draw(make_table([], EXPERIMENT.columns), None).values():
        assert "not measured" in words(drawing.figure)
