"""Exact composition as an experiment: rows at a small size, rules on tables made by hand, figures."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.lab.experiment import make_plan
from recombine.lab.table import make_table
from recombine.runs.exact_composition import COLUMNS, LemmaConfig
from recombine.runs.work import Computation
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores.lemma.claims import CLAIMS, over_noise
from recombine.studies.local_scores.lemma.experiment import ARM, SMOKE
from recombine.studies.local_scores.lemma.figures import draw
from support import tables
from support.pictures import legend, render, words

SMALL = LemmaConfig(
    sigmas=(1.0,), conditions=1, points=2, samples=200, levels=4, couplings=(0.3,), images=(50,), draws=4
)
LEVELS = (0.1, 0.3, 1.0, 3.0, 10.0)
Series = tuple[str, Mapping[str, Any], Any]
"""An instrument, its columns, and a value at every level or a value for each sigma."""


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def table_of(*series: Series, seeds: int = 6, shake: float = 1.001) -> pl.DataFrame:
    """The same for every seed, a little more from one to the next."""
    rows = []
    for instrument, columns, values in series:
        levels = values if isinstance(values, Mapping) else dict.fromkeys(LEVELS, values)
        for sigma, value in levels.items():
            rows += tables.rows_of(
                lambda row, value=value: value * shake ** row["seed"],
                arm=ARM, seed=range(seeds), instrument=instrument, sigma=sigma, **columns,
            )  # fmt: skip
    return make_table(rows, COLUMNS)


def of(law: str, **more: Any) -> dict[str, Any]:
    return {"law": law, **more}


GAUSSIAN = of("gaussian", rho=0.3)


# Rows


def test_a_seed_is_a_set_of_mixtures() -> None:
    first, again, other = (config.rows() for config in (SMALL, SMALL, SMALL.with_seeds(Seeds.all(1))))
    assert first == again
    drawn = [
        {tuple(v for k, v in row.items() if k != "value"): row["value"] for row in rows} for rows in (first, other)
    ]
    assert drawn[0].keys() == drawn[1].keys()
    assert drawn[0]["coupled", 1.0, "linear"] != drawn[1]["coupled", 1.0, "linear"]
    assert drawn[0]["gaussian", 0.3, 1.0, "error"] == drawn[1]["gaussian", 0.3, 1.0, "error"]
    assert drawn[0]["gaussian", 0.3, 1.0, "error"] == pytest.approx(9.12e-3, rel=1e-3)
    assert len(drawn[0]) == len(first)


def test_conditions_start_with_all_blocks() -> None:
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


def test_values_over_noise() -> None:
    table = table_of(("linear", of("composed"), {3.0: 1.0, 0.0: 2.0}), seeds=2, shake=1)
    assert over_noise(table, "linear", law="composed") == {0: {0.0: 2.0, 3.0: 1.0}, 1: {0.0: 2.0, 3.0: 1.0}}


@pytest.mark.parametrize(
    ("claim", "asked"),
    [
        ("LS1a", [("pixel.outside", of("composed")), ("pixel.outside", of("null-tied"))]),
        (
            "LS1b",
            [(f"{what}.outside", of(law)) for law in ("composed", "null-tied") for what in ("condition", "dropped")],
        ),
        ("LS1c", [("rebuilt", of("composed"))]),
        ("LS4a", [("pixel.outside", {"map": "orthogonal"}), ("partial", {"map": "orthogonal"})]),
        ("LS4c", [("cosine", {"map": "identity"}), ("cosine", {"map": "orthogonal"})]),
        ("LS6a", [("linear", of("composed"))]),
    ],
)
def test_zero_is_zero_at_every_level_of_every_set(claim: str, asked: list[tuple[str, dict[str, Any]]]) -> None:
    good: list[Series] = [(*one, 1e-13) for one in asked]
    assert judge(claim, table_of(*good))["verdict"] == "holds"
    assert judge(claim, table_of(*good, seeds=4))["verdict"] == "undecided"
    for place, one in enumerate(asked):
        rest = good[:place] + good[place + 1 :]
        leak = {**dict.fromkeys(LEVELS, 1e-13), 3.0: 2e-7}
        answer = judge(claim, table_of(*rest, (*one, leak)))
        assert (answer["verdict"], answer["estimate"]) == ("fails", 0)
        assert tables.undecided(judge(claim, table_of(*rest)))


@pytest.mark.parametrize(
    ("claim", "instrument", "columns", "sigma", "bound"),
    [
        ("LS1d", "pixel.outside", of("coupled"), 0.3, 0.1),
        ("LS1e", "condition.outside", of("coupled"), 0.3, 0.1),
        ("LS4b", "partial", {"map": "generic"}, 1.0, 0.05),
        ("LS6b", "linear", of("coupled"), 0.3, 0.1),
        ("LS6c", "linear", of("null-tied"), 0.3, 0.1),
    ],
)
def test_above_a_bound_at_one_level(
    claim: str, instrument: str, columns: dict[str, Any], sigma: float, bound: float
) -> None:
    def at(value: float, rest: float) -> pl.DataFrame:
        return table_of((instrument, columns, {**dict.fromkeys(LEVELS, rest), sigma: value}))

    assert judge(claim, at(2 * bound, 0.0))["verdict"] == "holds"
    assert judge(claim, at(bound / 2, 9.0))["verdict"] == "fails"
    assert tables.undecided(judge(claim, table_of((instrument, columns, {5.0: 9.0}))))


def test_the_cosine_behind_a_generic_map() -> None:
    assert judge("LS4d", table_of(("cosine", {"map": "generic"}, {None: 0.3})))["verdict"] == "holds"
    assert judge("LS4d", table_of(("cosine", {"map": "generic"}, {None: 0.05})))["verdict"] == "fails"


def test_one_function_for_all_sets_of_conditions() -> None:
    crowded = of("crowded")
    good: list[Series] = [(f"{what}.outside", crowded, 1e-14) for what in ("pixel", "condition")]
    assert judge("LS1f", table_of(*good, ("rebuilt", crowded, 4.0)))["verdict"] == "holds"
    assert judge("LS1f", table_of(*good, ("rebuilt", crowded, 1e-9)))["verdict"] == "fails"
    leaks: Series = ("pixel.outside", crowded, 0.1)
    assert judge("LS1f", table_of(good[1], leaks, ("rebuilt", crowded, 4.0)))["verdict"] == "fails"


def test_errors_that_fall() -> None:
    falling = dict(zip(LEVELS, (0.5, 0.3, 0.03, 1e-4, 1e-7), strict=True))
    assert judge("LS2a", table_of(("error.sampled", of("coupled"), falling)))["verdict"] == "holds"
    assert judge("LS2a", table_of(("error.sampled", of("coupled"), {**falling, 0.3: 0.6})))["verdict"] == "fails"
    for sizes, verdict in ((1.0, "holds"), (falling, "fails")):
        answer = judge("LS2b", table_of(("error", GAUSSIAN, falling), ("score.squared", GAUSSIAN, sizes)))
        assert answer["verdict"] == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(1.04, "holds"), (1.3, "fails"), (0.8, "fails")])
def test_the_error_is_the_gap_where_it_can_be_sampled(ratio: float, verdict: str) -> None:
    gaps = {**dict.fromkeys(LEVELS, 1.0), 0.3: ratio, 10.0: 7.0}
    answer = judge("LS2c", table_of(("error.sampled", of("coupled"), 1.0), ("gap.sampled", of("coupled"), gaps)))
    assert (answer["verdict"], answer["estimate"]) == (verdict, pytest.approx(ratio))


@pytest.mark.parametrize(("ratio", "verdict"), [(1.01, "holds"), (1.05, "fails")])
def test_the_sampled_gaussian(ratio: float, verdict: str) -> None:
    sampled = {**dict.fromkeys(LEVELS, 1.0), 3.0: ratio}
    answer = judge("LS2d", table_of(("error", GAUSSIAN, 1.0), ("error.sampled", GAUSSIAN, sampled)))
    assert (answer["verdict"], answer["estimate"]) == (verdict, pytest.approx(ratio))


def test_known_numbers() -> None:
    known = {0.1: 0.14, 1.0: 9.12e-3, 10.0: 1.279e-7}
    assert judge("LS2e", table_of(("error", GAUSSIAN, known), shake=1))["verdict"] == "holds"
    assert judge("LS2e", table_of(("error", GAUSSIAN, {**known, 10.0: 1.3e-7}), shake=1))["verdict"] == "fails"
    assert judge("LS2e", table_of(("error", GAUSSIAN, {0.1: 0.14}), shake=1))["verdict"] == "fails"


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "fails"), (4.0, "fails"), (2.0, "holds")])
def test_the_weighted_peak(power: float, verdict: str) -> None:
    """Errors that fall slower, faster, and at first slower than sigma^-2."""
    errors = {sigma: sigma**-power for sigma in (0.03, *LEVELS)} if power != 2 else {
        0.03: 1.0, 0.1: 1.0, 0.3: 0.5, 1.0: 0.1, 3.0: 1e-3, 10.0: 1e-7}  # fmt: skip
    assert judge("LS2f", table_of(("error.sampled", of("coupled"), errors), shake=1))["verdict"] == verdict


def totals(lost: float = 1.0, total: float = 1.0, bound: float = 1.0, coupled: float = 1.0) -> pl.DataFrame:
    series: list[Series] = []
    for rho, known in ((0.1, 0.01507), (0.3, 0.14140), (0.6, 0.66910)):
        for name, factor in (("divergence.lost", lost), ("error.total", total), ("divergence", bound)):
            series.append((name, of("gaussian", rho=rho), {None: known * factor}))
    series += [("divergence.lost", of("coupled"), {None: 0.5}), ("error.total", of("coupled"), {None: 0.5 * coupled})]
    return table_of(*series, shake=1)


def test_totals() -> None:
    assert [judge(name, totals())["verdict"] for name in ("LS3a", "LS3b", "LS3c")] == ["holds"] * 3
    assert judge("LS3a", totals(total=1.001))["verdict"] == "fails"  # not the integral
    assert judge("LS3a", totals(lost=1.01, total=1.01))["verdict"] == "fails"  # not the known numbers
    assert judge("LS3b", totals(coupled=1.1))["verdict"] == "fails"
    assert judge("LS3c", totals(bound=0.99))["verdict"] == "fails"


@pytest.mark.parametrize(
    ("claim", "background", "count", "good", "bad"),
    [("LS5a", "shared", 50, 0.37, 0.3), ("LS5b", "shared", 500, 0.11, 0.0), ("LS5c", "split", 50, 0.002, 0.1)],
)
def test_cosines_from_samples(claim: str, background: str, count: int, good: float, bad: float) -> None:
    for value, verdict in ((good, "holds"), (bad, "fails")):
        columns = {"background": background, "samples": count}
        table = table_of(("cosine.sampled", columns, {None: value}))
        assert judge(claim, table)["verdict"] == verdict


def test_an_empty_table_decides_nothing() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, make_table([], COLUMNS)))


# Figures, and the whole


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    runs = make_plan(EXPERIMENTS["local-scores/lemma"], "smoke").runs
    return make_table(
        [{"arm": run.arm, "seed": run.seed, **row}
         for run in runs if isinstance(run.config, Computation) for row in run.config.rows()],
        COLUMNS,
    )  # fmt: skip


def test_smoke_has_what_every_claim_needs(smoke: pl.DataFrame) -> None:
    answers = {claim.id: judge(claim.id, smoke) for claim in CLAIMS}
    assert {name for name, answer in answers.items() if answer["n"] == 0} == set()
    for name in ("LS1a", "LS1b", "LS1c", "LS1f", "LS2a", "LS2b", "LS2e", "LS3a", "LS3c", "LS4a", "LS4c", "LS6a"):
        assert (name, answers[name]["estimate"]) == (name, 1)
    assert answers["LS6c"]["estimate"] > 0.1


def test_figures_of_smoke_are_drawn(smoke: pl.DataFrame) -> None:
    found = draw(smoke, SMOKE)
    assert set(found) == {"figure", "lemma", "features"}
    for drawing in found.values():
        assert "n = 2 sets of mixtures" in words(drawing.figure)
        assert "not computed" not in words(drawing.figure)
        assert len(drawing.figure.axes) <= 4
        assert len(render(drawing.figure)) > 5_000
    leaks = found["figure"].figure.axes[0]
    assert "shared latent: pixel" in legend(leaks)
    assert "float64 rounding" in words(leaks)


def test_what_was_not_computed_is_said() -> None:
    for drawing in draw(make_table([], COLUMNS), SMOKE).values():
        text = " ".join(words(drawing.figure).split())
        assert text.count("was not computed") == len(drawing.figure.axes)
        render(drawing.figure)


def test_full_is_what_the_claims_ask_for() -> None:
    budget = EXPERIMENTS["local-scores/lemma"].budgets["full"]
    config = budget.arms[ARM]
    assert isinstance(config, LemmaConfig)
    assert budget.seeds >= 5
    assert {0.1, 0.3, 1.0, 10.0} <= set(config.sigmas)
    assert {50, 500, 5000} <= set(config.images)
