"""Exact composition as an experiment: rows at a small size, rules on tables made by hand, figures."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.lab.experiment import make_plan
from recombine.lab.table import make_table
from recombine.runs.work import Computation
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.studies.local_scores.lemma import figures as drawings
from recombine.studies.local_scores.lemma.claims import EXACT, LEMMA, at_noise, over_noise
from recombine.studies.local_scores.lemma.experiment import EXPERIMENT, SMOKE, LemmaConfig
from support import tables
from support.pictures import legend, render, words

SMALL = LemmaConfig(
    sigmas=(1.0,), conditions=1, points=2, samples=200, levels=4, couplings=(0.3,), images=(50,), draws=4
)
Values = Mapping[tuple[str, str], Mapping[float, float]]
"""(node, instrument): {sigma: value}."""
LEVELS = (0.1, 0.3, 1.0, 3.0, 10.0)


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(LEMMA, claim, table)


def told(readings: Iterable[tuple[int, int, str, str, float]]) -> pl.DataFrame:
    """From seed, images seen, node, instrument and value."""
    return make_table(
        [("s", "e", EXACT, seed, seen, node, None, what, value) for seed, seen, node, what, value in readings]
    )


def table_of(values: Values, seeds: int = 6, shake: float = 1.001) -> pl.DataFrame:
    """The same for every seed, a little more from one to the next."""
    return told(
        (seed, round(1e6 * sigma), node, instrument, value * shake**seed)
        for seed in range(seeds)
        for (node, instrument), own in values.items()
        for sigma, value in own.items()
    )


def flat(value: float) -> dict[float, float]:
    return dict.fromkeys(LEVELS, value)


def computed(budget: str) -> pl.DataFrame:
    return told(
        (run.seed, row["images_seen"], row["node"], row["instrument"], row["value"])
        for run in make_plan(EXPERIMENT, budget).runs
        if isinstance(run.config, Computation)
        for row in run.config.rows()
    )


# Rows


def test_a_seed_is_a_set_of_mixtures() -> None:
    first, again, other = (config.rows() for config in (SMALL, SMALL, SMALL.with_seeds(Seeds.all(1))))
    assert first == again
    drawn = [{(r["node"], r["instrument"], r["images_seen"]): r["value"] for r in rows} for rows in (first, other)]
    assert drawn[0].keys() == drawn[1].keys()
    assert drawn[0]["coupled", "linear", 10**6] != drawn[1]["coupled", "linear", 10**6]
    assert drawn[0]["gaussian,rho=0.3", "error", 10**6] == drawn[1]["gaussian,rho=0.3", "error", 10**6]
    assert drawn[0]["gaussian,rho=0.3", "error", 10**6] == pytest.approx(9.12e-3, rel=1e-3)
    assert len(drawn[0]) == len(first)


def test_conditions_start_with_all_blocks_told() -> None:
    asked = LemmaConfig(conditions=40).asked()
    assert min(asked[0]) >= 1
    assert {value for condition in asked for value in condition} == set(range(5))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sigmas": [-1]}, "sigmas"),
        ({"couplings": [1]}, "couplings"),
        ({"images": [1]}, "images"),
        ({"points": 1}, "points"),
        ({"condition": 3}, "did you mean 'conditions'"),
    ],
)
def test_bad_settings_are_one_line(changes: Mapping[str, Any], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(SMALL, changes).check()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


# Rules


def test_readings_over_noise() -> None:
    table = table_of({("cpc", "linear"): {3.0: 1.0, 0.0: 2.0}}, seeds=2, shake=1)
    assert over_noise(table, "cpc", "linear") == {0: {0.0: 2.0, 3.0: 1.0}, 1: {0.0: 2.0, 3.0: 1.0}}
    assert at_noise(table, "cpc", "linear", 3.0) == {0: 1.0, 1: 1.0}


@pytest.mark.parametrize(
    ("claim", "asked"),
    [
        ("LS1a", [("cpc", "pixel.outside"), ("null-tied", "pixel.outside")]),
        ("LS1b", [(node, f"{what}.outside") for node in ("cpc", "null-tied") for what in ("condition", "dropped")]),
        ("LS1c", [("cpc", "rebuilt")]),
        ("LS4a", [("orthogonal", "pixel.outside"), ("orthogonal", "partial")]),
        ("LS4c", [("features", "cosine"), ("orthogonal", "cosine")]),
        ("LS6a", [("cpc", "linear")]),
    ],
)
def test_nothing_is_nothing_at_every_level_of_every_set(claim: str, asked: list[tuple[str, str]]) -> None:
    good = {key: flat(1e-13) for key in asked}
    assert judge(claim, table_of(good))["verdict"] == "holds"
    assert judge(claim, table_of(good, seeds=4))["verdict"] == "undecided"
    for key in asked:
        answer = judge(claim, table_of({**good, key: {**flat(1e-13), 3.0: 2e-8}}))
        assert (answer["verdict"], answer["estimate"]) == ("fails", 0)
        assert tables.undecided(judge(claim, table_of({other: flat(0) for other in asked if other != key})))


@pytest.mark.parametrize(
    ("claim", "node", "instrument", "sigma", "bound"),
    [
        ("LS1d", "coupled", "pixel.outside", 0.3, 0.1),
        ("LS1e", "coupled", "condition.outside", 0.3, 0.1),
        ("LS4b", "generic", "partial", 1.0, 0.05),
        ("LS4d", "generic", "cosine", 0.0, 0.1),
        ("LS6b", "coupled", "linear", 0.3, 0.1),
        ("LS6c", "null-tied", "linear", 0.3, 0.1),
    ],
)
def test_something_at_one_level(claim: str, node: str, instrument: str, sigma: float, bound: float) -> None:
    def at(value: float, rest: float) -> pl.DataFrame:
        return table_of({(node, instrument): {**flat(rest), sigma: value}})

    assert judge(claim, at(2 * bound, 0.0))["verdict"] == "holds"
    assert judge(claim, at(bound / 2, 9.0))["verdict"] == "fails"
    assert tables.undecided(judge(claim, table_of({(node, instrument): {5.0: 9.0}})), "was not computed at")


def test_one_function_for_all_sets_of_conditions() -> None:
    good = {("crowded", f"{what}.outside"): flat(1e-14) for what in ("pixel", "condition")}
    off = {("crowded", "rebuilt"): flat(4.0)}
    assert judge("LS1f", table_of({**good, **off}))["verdict"] == "holds"
    assert judge("LS1f", table_of({**good, ("crowded", "rebuilt"): flat(1e-9)}))["verdict"] == "fails"
    assert judge("LS1f", table_of({**good, **off, ("crowded", "pixel.outside"): flat(0.1)}))["verdict"] == "fails"


def test_errors_that_fall() -> None:
    falling = dict(zip(LEVELS, (0.5, 0.3, 0.03, 1e-4, 1e-7), strict=True))
    assert judge("LS2a", table_of({("coupled", "error.sampled"): falling}))["verdict"] == "holds"
    assert judge("LS2a", table_of({("coupled", "error.sampled"): {**falling, 0.3: 0.6}}))["verdict"] == "fails"
    node = "gaussian,rho=0.3"
    for sizes, verdict in ((flat(1.0), "holds"), (falling, "fails")):
        answer = judge("LS2b", table_of({(node, "error"): falling, (node, "score.squared"): sizes}))
        assert answer["verdict"] == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(1.04, "holds"), (1.3, "fails"), (0.8, "fails")])
def test_the_error_is_the_gap_where_it_can_be_sampled(ratio: float, verdict: str) -> None:
    gaps = {**flat(1.0), 0.3: ratio, 10.0: 7.0}
    answer = judge("LS2c", table_of({("coupled", "error.sampled"): flat(1.0), ("coupled", "gap.sampled"): gaps}))
    assert (answer["verdict"], answer["estimate"]) == (verdict, pytest.approx(ratio))


@pytest.mark.parametrize(("ratio", "verdict"), [(1.01, "holds"), (1.05, "fails")])
def test_the_sampled_gaussian(ratio: float, verdict: str) -> None:
    node = "gaussian,rho=0.3"
    answer = judge("LS2d", table_of({(node, "error"): flat(1.0), (node, "error.sampled"): {**flat(1.0), 3.0: ratio}}))
    assert (answer["verdict"], answer["estimate"]) == (verdict, pytest.approx(ratio))


def test_known_numbers() -> None:
    known = {0.1: 0.14, 1.0: 9.12e-3, 10.0: 1.279e-7}
    node = ("gaussian,rho=0.3", "error")
    assert judge("LS2e", table_of({node: known}, shake=1))["verdict"] == "holds"
    assert judge("LS2e", table_of({node: {**known, 10.0: 1.3e-7}}, shake=1))["verdict"] == "fails"
    assert judge("LS2e", table_of({node: {0.1: 0.14}}, shake=1))["verdict"] == "fails"


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "fails"), (4.0, "fails"), (2.0, "holds")])
def test_the_weighted_peak(power: float, verdict: str) -> None:
    """Errors that fall slower, faster, and at first slower than sigma^-2."""
    errors = {sigma: sigma**-power for sigma in (0.03, *LEVELS)} if power != 2 else {
        0.03: 1.0, 0.1: 1.0, 0.3: 0.5, 1.0: 0.1, 3.0: 1e-3, 10.0: 1e-7}  # fmt: skip
    answer = judge("LS2f", table_of({("coupled", "error.sampled"): errors}, shake=1))
    assert answer["verdict"] == verdict


def totals(lost: float = 1.0, total: float = 1.0, bound: float = 1.0, coupled: float = 1.0) -> pl.DataFrame:
    values: dict[tuple[str, str], dict[float, float]] = {}
    for rho, known in ((0.1, 0.01507), (0.3, 0.14140), (0.6, 0.66910)):
        node = f"gaussian,rho={rho:g}"
        values[node, "divergence.lost"] = {0.0: known * lost}
        values[node, "error.total"] = {0.0: known * total}
        values[node, "divergence"] = {0.0: known * bound}
    values["coupled", "divergence.lost"] = {0.0: 0.5}
    values["coupled", "error.total"] = {0.0: 0.5 * coupled}
    return table_of(values, shake=1)


def test_totals() -> None:
    assert [judge(name, totals())["verdict"] for name in ("LS3a", "LS3b", "LS3c")] == ["holds"] * 3
    assert judge("LS3a", totals(total=1.001))["verdict"] == "fails"  # not the integral
    assert judge("LS3a", totals(lost=1.01, total=1.01))["verdict"] == "fails"  # not the known numbers
    assert judge("LS3b", totals(coupled=1.1))["verdict"] == "fails"
    assert judge("LS3c", totals(bound=0.99))["verdict"] == "fails"


@pytest.mark.parametrize(
    ("claim", "node", "count", "good", "bad"),
    [("LS5a", "shared", 50, 0.37, 0.3), ("LS5b", "shared", 500, 0.11, 0.0), ("LS5c", "split", 50, 0.002, 0.1)],
)
def test_cosines_from_samples(claim: str, node: str, count: int, good: float, bad: float) -> None:
    for value, verdict in ((good, "holds"), (bad, "fails")):
        table = told((seed, count, node, "cosine.sampled", value + 1e-4 * seed) for seed in range(6))
        assert judge(claim, table)["verdict"] == verdict


def test_an_empty_table_decides_nothing() -> None:
    for claim in LEMMA:
        assert tables.undecided(judge(claim.id, make_table([])))


# Figures, and the whole


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    return computed("smoke")


def test_smoke_has_what_every_claim_needs(smoke: pl.DataFrame) -> None:
    answers = {claim.id: judge(claim.id, smoke) for claim in LEMMA}
    assert {name for name, answer in answers.items() if answer["n"] == 0} == set()
    for name in ("LS1a", "LS1b", "LS1c", "LS1f", "LS2a", "LS2b", "LS2e", "LS3a", "LS3c", "LS4a", "LS4c", "LS6a"):
        assert (name, answers[name]["estimate"]) == (name, 1)
    assert answers["LS6c"]["estimate"] > 0.1


def test_figures_of_smoke_are_drawn(smoke: pl.DataFrame) -> None:
    found = EXPERIMENT.draw(smoke, SMOKE)
    assert set(found) == {"figure", "lemma"}
    for drawing in found.values():
        assert "n = 2 sets of mixtures" in words(drawing.figure)
        assert "not computed" not in words(drawing.figure)
        assert len(render(drawing.figure)) > 5_000
    leaks = found["figure"].figure.axes[0]
    assert "coupled by a latent: pixel" in legend(leaks)
    assert "float64 rounding" in words(leaks)


def test_what_was_not_computed_is_said() -> None:
    for drawn in (drawings.figure(make_table([])), drawings.lemma(make_table([]))):
        assert " ".join(words(drawn).split()).count("was not computed") == len(drawn.axes)
        render(drawn)


def test_full_is_what_the_claims_ask_for() -> None:
    budget = EXPERIMENT.budgets["full"]
    config = budget.arms[EXACT]
    assert isinstance(config, LemmaConfig)
    assert budget.seeds >= 5
    assert {0.1, 0.3, 1.0, 10.0} <= set(config.sigmas)
    assert {50, 500, 5000} <= set(config.images)
