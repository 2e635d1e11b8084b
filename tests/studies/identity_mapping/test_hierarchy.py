"""The lattice of concepts: its pairs, rules on tables made by hand, rows at smoke, the figure."""

from typing import Any

import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.lab.table import make_table
from recombine.settings import override
from recombine.studies.identity_mapping.hierarchy.claims import EPOCHS, HIERARCHY, median_errors, pairs_of
from recombine.studies.identity_mapping.hierarchy.experiment import EXPERIMENT, HierarchyConfig, every_probe, pairs
from recombine.studies.identity_mapping.hierarchy.figures import places
from recombine.worlds.mixture import MixtureWorld
from support import tables
from support.pictures import render, words


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(HIERARCHY, claim, table)


def shares(worst: float, arm: str = "linear", instrument: str = "ordered", starts: int = 20) -> pl.DataFrame:
    """All pairs in order at epochs 1 and 5, this share of them at epoch 3."""
    return make_table(
        [
            ("s", "e", arm, 0, 1_000 * epoch, f"start {start}", None, instrument, worst if epoch == 3 else 1.0)
            for epoch in EPOCHS
            for start in range(starts)
        ]
    )


def errors(broken: bool) -> pl.DataFrame:
    """Errors that grow with the number of concepts; or with one pair out of order, in one net at one epoch."""
    rows = []
    for arm in ("linear", "relu"):
        for epoch in EPOCHS:
            for node in tables.nodes_of(4):
                value = float(node.count("1"))
                if broken and (arm, epoch, node) == ("relu", 5, "1000"):
                    value = 2.5
                rows.append(("s", "e", arm, 0, 1_000 * epoch + 6, node, None, "error", value))
    return make_table(rows)


# Pairs


def test_four_concepts_have_65_pairs_50_of_them_without_the_empty_one() -> None:
    names = list(every_probe(HierarchyConfig().world))
    found = {(names[low], names[high]) for low, high in pairs(names)}
    assert (names[0], len(names), len(found)) == ("0000", 16, 65)
    assert len([u for u, _ in found if u != "0000"]) == 50
    assert ("1000", "1011") in found
    assert ("1000", "0111") not in found
    assert found == set(pairs_of(dict.fromkeys(names, 0.0)))


def test_the_probes_are_sums_of_centres() -> None:
    world = MixtureWorld(dimensions=3, signals=(1, 2), spreads=(0.1, 0.1))
    assert torch.stack(list(every_probe(world).values())).tolist() == [[0, 0, 0], [0, 2, 0], [1, 0, 0], [1, 2, 0]]


# Rules


@pytest.mark.parametrize(("worst", "verdict"), [(1.0, "holds"), (0.96, "holds"), (0.9, "fails")])
@pytest.mark.parametrize(
    ("claim", "arm", "instrument"),
    [("S10", "linear", "ordered"), ("S10r", "relu", "ordered"), ("S10o", "linear origin", "ordered"),
     ("S10p", "relu origin", "ordered"), ("S10b", "linear no bias", "ordered"), ("S10c", "relu no bias", "ordered"),
     ("S10e", "linear", "ordered.parts"), ("S10f", "relu", "ordered.parts"),
     ("S10g", "linear no bias", "ordered.clear"), ("S10h", "linear", "ordered.clear")],
)  # fmt: skip
def test_the_worst_epoch_counts(claim: str, arm: str, instrument: str, worst: float, verdict: str) -> None:
    answer = judge(claim, shares(worst, arm, instrument))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, pytest.approx(worst), 20)
    assert f"all pairs in {20 if worst == 1 else 0} of 20 starts" in answer["note"]


def test_an_epoch_that_was_not_measured_decides_nothing() -> None:
    lacking = shares(1.0).filter(pl.col("images_seen") < 5_000)
    assert tables.undecided(judge("S10", lacking), "epochs")


def test_pairs_of_medians() -> None:
    whole, broken = judge("S10m", errors(broken=False)), judge("S10m", errors(broken=True))
    assert (whole["verdict"], whole["estimate"], whole["n"]) == ("holds", 1.0, 2 * 3 * 65)
    assert (broken["verdict"], broken["note"]) == ("fails", "out of order: 1000<1001, 1000<1010, 1000<1100")
    assert broken["estimate"] == pytest.approx(1 - 3 / 390)


def test_the_observation_nearest_to_an_epoch_is_taken_if_it_is_near() -> None:
    table = errors(broken=False)
    assert set(median_errors(table, "linear")) == set(EPOCHS)
    late = table.with_columns(pl.col("images_seen") + 300)
    assert median_errors(late, "linear") == {}


def test_an_empty_table_decides_nothing() -> None:
    for claim in HIERARCHY:
        assert tables.undecided(judge(claim.id, make_table([])))


# Rows and the figure


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    return make_table(
        [
            ("s", "e", arm, 0, r["images_seen"], r["node"], None, r["instrument"], r["value"])
            for arm, config in EXPERIMENT.budgets["smoke"].arms.items()
            if isinstance(config, HierarchyConfig)
            for r in config.rows()
        ]
    )


def test_smoke_has_what_the_claims_need(smoke: pl.DataFrame) -> None:
    for claim in HIERARCHY:
        assert judge(claim.id, smoke)["n"] >= 5


def test_shares_by_start_and_by_pair_are_of_the_same_pairs(smoke: pl.DataFrame) -> None:
    for arm in ("linear", "relu"):
        here = smoke.filter(
            (pl.col("arm") == arm) & (pl.col("instrument") == "ordered") & (pl.col("images_seen") == 3_000)
        )
        by_start = here.filter(pl.col("node").str.starts_with("start "))["value"]
        by_pair = here.filter(pl.col("node").str.contains("<"))["value"]
        assert (len(by_start), len(by_pair)) == (6, 65)
        assert by_start.mean() == pytest.approx(by_pair.mean())


def test_a_margin_never_puts_a_pair_out_of_order(smoke: pl.DataFrame) -> None:
    found = {name: smoke.filter(pl.col("instrument") == name).sort("arm", "node", "images_seen")
             for name in ("ordered", "ordered.clear")}  # fmt: skip
    strict = found["ordered"].filter(pl.col("node").str.starts_with("start "))["value"]
    clear = found["ordered.clear"]["value"]
    assert len(strict) == len(clear) == 6 * 6 * 3
    assert (clear >= strict).all()
    assert (clear > strict).any()


def test_without_a_bias_and_from_rest_the_order_is_exact() -> None:
    """The error of v is the sum over its concepts of mu_p^2 exp(-2 a_p t): a part never has more."""
    config = HierarchyConfig(count=200, starts=5, datasets=1, net={"layers": 1, "bias": False, "scale": 0.0})
    kept = [r["value"] for r in config.rows() if r["instrument"] == "ordered"]
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


def test_the_figure_shows_every_combination(smoke: pl.DataFrame) -> None:
    figure = EXPERIMENT.draw(smoke, None)["figure"].figure
    render(figure)
    text = words(figure)
    assert all(text.count(node) >= 9 for node in tables.nodes_of(4))
    assert "n = 6 starts" in text


def test_a_figure_of_nothing_says_so() -> None:
    assert "not measured" in words(EXPERIMENT.draw(make_table([]), None)["figure"].figure)
