"""The linear denoiser: its rows against known limits, its rules on rows made by hand, its figures."""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.lab.table import make_table, select
from recombine.runs.identity import linear_denoiser as computation
from recombine.runs.identity.linear_denoiser import COLUMNS, LinearDenoiserConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.linear_denoiser.claims import CLAIMS, levels_at, retreats
from recombine.studies.identity_mapping.linear_denoiser.figures import draw
from support import tables
from support.identity_tables import arms_of, by_hand, computed
from support.pictures import render, words

EXPERIMENT = EXPERIMENTS["identity-mapping/linear-denoiser"]
Rows = list[dict[str, Any]]
EMPTY = make_table([], COLUMNS)


def table_of(*found: Rows) -> pl.DataFrame:
    return by_hand(EXPERIMENT, [{"arm": "a", **row} for rows in found for row in rows])


def computed_by(config: LinearDenoiserConfig) -> pl.DataFrame:
    return computed(EXPERIMENT, {"a": config})


def value(table: pl.DataFrame, instrument: str, **where: Any) -> float:
    return float(select(table, instrument, **where)["value"].item())


def judge(claim: str, *found: Rows) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table_of(*found))


# Rows


def test_levels_at_their_limits() -> None:
    table = computed_by(LinearDenoiserConfig(asked="levels", spreads=((0.6, 0.05),), steps=5))
    for condition, concept, a in (("class", 1, 0.5), ("class", 2, 2.0), ("value", 1, 0.86), ("value", 2, 2.0025)):
        where = {"gap": 2.0, "spread": 0.6, "strong_spread": 0.05, "condition": condition, "concept": concept}
        limit = math.log(5) / a
        assert value(table, "identity.learning_time", **where) == pytest.approx(limit)
        noisiest = select(table, "level.learning_time", **where).sort("sigma").row(-1, named=True)
        assert (noisiest["sigma"], noisiest["value"]) == pytest.approx((80, limit), rel=2e-3)
    used = select(table, "level.condition_used", condition="class", concept=1).sort("sigma")
    for sigma, found in ((used["sigma"][end], used["value"][end]) for end in (0, -1)):
        assert found == pytest.approx(sigma**2 / (sigma**2 + 0.36), rel=1e-6)
    assert (used["sigma"][0], used["sigma"][-1]) == pytest.approx((0.002, 80))


def test_the_order_in_samples_turns_with_the_spread_conditioned_on_the_value() -> None:
    table = computed_by(LinearDenoiserConfig(asked="order", spreads=((0.05, 0.05), (2.0, 0.05)), moments=800))
    for model in ("separate", "edm"):
        for condition, spread, stronger_first in (
            ("class", 0.05, True), ("class", 2.0, True), ("value", 0.05, True), ("value", 2.0, False),
        ):  # fmt: skip
            weak, strong = (
                value(table, "samples.learning_time", model=model, condition=condition, spread=spread, concept=concept)
                for concept in (1, 2)
            )
            assert (weak > strong) == stronger_first


@pytest.fixture(scope="module")
def swung() -> pl.DataFrame:
    config = LinearDenoiserConfig(asked="swing", models=("separate", "edm", "best"), starts=12, steps=5, moments=151)
    return computed_by(config.replace(shown=2))


def test_the_noisiest_level_and_the_best_m_do_what_identity_mapping_does(swung: pl.DataFrame) -> None:
    mapped = retreats(swung, "identity")
    assert mapped[2.0][1] == 12
    assert 4 <= mapped[2.0][0] <= 12  # 0.72 of 400
    assert retreats(swung, "best") == mapped
    levels = levels_at(swung, 2.0)
    assert (levels[max(levels)], levels[min(levels)]) == (mapped[2.0], (0, 12))
    assert (max(levels), min(levels)) == pytest.approx((80, 0.002))
    assert value(swung, "as_identity", model="separate") == 12
    medians = (value(swung, "retreat.median", model=model, sigma=None) for model in ("best", "identity"))
    assert next(medians) == pytest.approx(next(medians), abs=0.01)


def test_one_layer_does_not_swing_by(swung: pl.DataFrame) -> None:
    for model in ("separate", "edm"):
        assert value(swung, "retreat.from_zero", model=model) == pytest.approx(0, abs=1e-9)
        assert retreats(swung, model, layers=1) == {2.0: (0, 12)}


def test_trajectories_are_kept_for_the_starts_shown(swung: pl.DataFrame) -> None:
    shown = select(swung, "share", concept=1).select("model", "layers", "number").unique().sort(pl.all()).rows()
    deep = [(model, 2, number) for model in ("best", "edm", "identity", "separate") for number in (0, 1)]
    assert shown == sorted([*deep, ("edm", 1, 0), ("separate", 1, 0)])
    path = select(swung, "share", concept=2, model="identity", number=1).sort("time")
    assert path["value"][-1] == pytest.approx(1, abs=1e-3)
    assert path["time"][1] == pytest.approx(0.2)


def test_how_many_starts_are_followed_at_once_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    few = LinearDenoiserConfig(asked="swing", models=("separate", "edm"), starts=5, steps=3, moments=21, span=8.0)
    together = few.rows()
    monkeypatch.setattr(computation, "AT_ONCE", 6)  # two starts of three levels
    for one, other in zip(few.rows(), together, strict=True):
        assert one.pop("value") == pytest.approx(other.pop("value"), abs=1e-12)
        assert one == other


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gaps": [0.5]}, "gaps"),
        ({"spreads": [[0.1]]}, "spreads"),
        ({"spreads": [[0, 0.1]]}, "spreads"),
        ({"models": ["shared"]}, "models"),
        ({"asked": "order", "models": ["best"]}, "model best is for deep denoisers"),
        ({"sigma_min": 90}, "must lie below sigma_max"),
        ({"asks": "order"}, "did you mean 'asked'"),
    ],
)
def test_bad_settings_are_one_line(changes: Mapping[str, Any], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(LinearDenoiserConfig(), changes)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unstable_step_is_one_line() -> None:
    with pytest.raises(UserError, match=r"^step 0\.5 .* to be stable$|^step 0\.5 is too large to be stable"):
        LinearDenoiserConfig(asked="swing", starts=2, step=0.5, moments=31).rows()


# Rules


def case(instrument: str, value: float, spread: float, condition: str, concept: int, **columns: Any) -> dict[str, Any]:
    return {"instrument": instrument, "value": value, "gap": 2.0, "spread": spread, "strong_spread": 0.05,
            "condition": condition, "concept": concept, **columns}  # fmt: skip


def over_noise(condition: str, spread: float, times: Mapping[float, tuple[float, float]]) -> Rows:
    """Learning times of both concepts over sigma."""
    return [
        case("level.learning_time", pair[concept], spread, condition, concept + 1, sigma=sigma)
        for sigma, pair in times.items()
        for concept in range(2)
    ]


@pytest.mark.parametrize(("off", "verdict"), [(1.005, "holds"), (1.02, "fails")])
def test_the_limit_is_that_of_the_most_noise(off: float, verdict: str) -> None:
    rows = []
    for spread in range(6):
        rows.append(case("identity.learning_time", 3.0, spread, "class", 1))
        for sigma, time in ((80.0, 3.0 * off), (10.0, 9.0)):
            rows.append(case("level.learning_time", time, spread, "class", 1, sigma=sigma))
    answer = judge("LD1", rows)
    assert (answer["verdict"], answer["n"]) == (verdict, 6)


@pytest.mark.parametrize(
    ("least", "most", "verdict"), [(0.001, 0.999, "holds"), (0.02, 0.999, "fails"), (0.001, 0.9, "fails")]
)
def test_the_use_of_the_condition(least: float, most: float, verdict: str) -> None:
    rows = []
    for spread in range(6):
        for sigma, used in ((100.0, most), (1.0, least), (10.0, 0.5)):
            rows.append(case("level.condition_used", used, spread, "class", 1, sigma=sigma))
        rows.append(case("level.condition_used", 1.0, spread, "value", 1, sigma=1.0))
    assert judge("LD1b", rows)["verdict"] == verdict


def test_the_order_over_noise_given_the_class() -> None:
    right = {0.002: (0.3, 0.4), 0.01: (0.3, 0.4), 1.0: (9.0, 0.1), 10.0: (3.0, 0.8), 40.0: (3.0, 0.8), 80.0: (3.0, 0.8)}
    narrow = over_noise("class", 0.05, dict.fromkeys(right, (3.0, 0.8)))  # nothing to turn: not counted
    answer = judge("LD1c", over_noise("class", 2.0, right), narrow)
    assert (answer["verdict"], answer["n"]) == ("holds", 5)  # sigma = 1 is between
    answer = judge("LD1c", over_noise("class", 2.0, {**right, 0.002: (0.5, 0.4)}))
    assert (answer["verdict"], answer["estimate"]) == ("fails", pytest.approx(0.8))


def test_the_order_over_noise_given_the_value() -> None:
    sigmas = (0.01, 0.1, 1.0, 10.0)
    cases = [over_noise("value", s, dict.fromkeys(sigmas, t)) for s, t in ((1.2, (2.0, 1.0)), (1.25, (1.0, 2.0)))]
    answer = judge("LD1d", *cases)
    assert (answer["verdict"], answer["n"]) == ("holds", 8)
    assert judge("LD1d", over_noise("value", 1.25, dict.fromkeys((*sigmas, 80.0), (2.0, 1.0))))["verdict"] == "fails"


def generated(condition: str, times: Mapping[float, tuple[float, float]]) -> Rows:
    return [
        case("samples.learning_time", pair[concept], spread, condition, concept + 1, model=model)
        for spread, pair in times.items()
        for model in ("separate", "edm")
        for concept in range(2)
    ]


def test_the_order_in_what_is_generated() -> None:
    steady = {0.05: (4.0, 1.0), 1.0: (3.0, 1.0), 2.0: (2.0, 1.0)}
    turning = {**steady, 2.0: (0.5, 1.0)}
    right = generated("class", steady), generated("value", turning)
    for claim, span in (("LD2", "2.00 to 4.00"), ("LD2b", "0.50 to 4.00")):
        answer = judge(claim, *right)
        assert (answer["verdict"], answer["n"]) == ("holds", 6)
        assert answer["note"].endswith(span)
    swapped = generated("class", turning), generated("value", steady)
    assert [judge(claim, *swapped)["verdict"] for claim in ("LD2", "LD2b")] == ["fails", "fails"]


def counted(
    model: str, k: int, gap: float = 2.0, n: int = 400, more: Mapping[str, int] | None = None, **columns: Any
) -> Rows:
    here = {"gap": gap, "start": "positive", "model": model, "layers": 2, **columns}
    counts = {"starts": n, **(more or {})}
    rows = [{"instrument": name, "value": float(number), **here} for name, number in counts.items()]
    return rows + [{"instrument": "retreats", "value": float(k), "threshold": at, **here} for at in (0.05, 0.01)]


@pytest.mark.parametrize(("k", "verdict"), [(256, "holds"), (205, "undecided"), (120, "fails")])
def test_how_often_samples_retreat(k: int, verdict: str) -> None:
    answer = judge("LD3", counted("edm", k), counted("edm", 0, 3.0), counted("best", 0), counted("edm", 9, layers=1))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, pytest.approx(k / 400), 400)


def test_gaps_in_order_of_number() -> None:
    rows = [counted("edm", k, gap) for gap, k in ((1.5, 80), (3.0, 390), (1.1, 0), (2.0, 250))]
    assert list(retreats(table_of(*rows), "edm")) == [1.1, 1.5, 2.0, 3.0]
    assert judge("LD3b", *rows)["verdict"] == "holds"


def test_one_layer_from_zero() -> None:
    still = tables.rows_of(0.0, instrument="retreat.from_zero", gap=[1, 2, 3], model=["separate", "edm"], layers=1)
    assert judge("LD3c", still)["verdict"] == "holds"
    assert judge("LD3c", [{**still[0], "value": 1e-3}, *still[1:]])["verdict"] == "fails"


@pytest.mark.parametrize(("k", "verdict"), [(2, "holds"), (60, "fails")])
def test_one_layer_from_the_same_start(k: int, verdict: str) -> None:
    flat = counted("edm", k, layers=1), counted("separate", k, 3.0, layers=1)
    answer = judge("LD3d", *flat, counted("edm", 400))
    assert (answer["verdict"], answer["n"]) == (verdict, 800)


def test_positive_against_gaussian() -> None:
    gaussian = counted("edm", 153, start="gaussian", more={"setbacks": 61})
    answer = judge("LD3e", counted("edm", 256, more={"setbacks": 297}), gaussian)
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(103 / 400))
    assert answer["note"] == "256 of 400 and 153 of 400; the loss rises in 297 and 61"


def levels_of(found: Mapping[float, int]) -> Rows:
    return [row for sigma, k in found.items() for row in counted("separate", k, sigma=sigma)]


def test_levels_from_little_noise_to_much() -> None:
    rows = levels_of({80.0: 288, 0.002: 0, 0.2: 0, 3.7: 250})
    assert list(levels_at(table_of(rows), 2.0)) == [0.002, 0.2, 3.7, 80]
    assert judge("LD4", rows)["verdict"] == "holds"
    answer = judge("LD4b", rows)
    assert (answer["verdict"], answer["n"]) == ("holds", 800)
    assert judge("LD4", levels_of({0.002: 288, 80.0: 0}))["verdict"] == "fails"
    assert judge("LD4b", levels_of({0.002: 288, 80.0: 0}))["verdict"] == "fails"


@pytest.mark.parametrize(("alike", "verdict"), [(400, "holds"), (300, "fails")])
def test_the_noisiest_level_start_by_start(alike: int, verdict: str) -> None:
    rows = [counted("separate", k, gap, more={"as_identity": alike}) for k, gap in ((100, 2.0), (5, 3.0))]
    answer = judge("LD5", *rows, levels_of({80.0: 7}))
    assert (answer["verdict"], answer["n"]) == (verdict, 800)


def test_samples_against_identity_mapping_over_the_gaps_of_both() -> None:
    rows = [counted(model, k, gap) for model, k in (("identity", 300), ("edm", 200)) for gap in (1.5, 2.0)]
    answer = judge("LD6", *rows, counted("identity", 0, 1.1), counted("edm", 400, 1.1))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(0.25), 800)
    assert "identity 0.750, 0.750; separate not counted; edm 0.500, 0.500" in answer["note"]


def test_an_empty_table_decides_nothing() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id))


# Figures, and the whole


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    return computed(EXPERIMENT, arms_of(EXPERIMENT, "smoke"))


def test_smoke_has_what_the_claims_need(smoke: pl.DataFrame) -> None:
    lacking = {claim.id for claim in CLAIMS if tables.judge(CLAIMS, claim.id, smoke)["n"] == 0}
    assert lacking == {"LD3b"}  # one gap only


def test_figures_of_smoke_are_drawn(smoke: pl.DataFrame) -> None:
    found = draw(smoke, LinearDenoiserConfig())
    assert set(found) == {"figure", "trajectories", "swing"}
    assert "Conditioned on the class" in words(found["figure"].figure)
    assert "n = 6 starts" in " ".join(words(found["swing"].figure).split())
    for drawing in found.values():
        assert "not co" not in words(drawing.figure)
        assert len(render(drawing.figure)) > 5_000


def test_what_was_not_computed_is_said() -> None:
    for drawing in draw(EMPTY, LinearDenoiserConfig()).values():
        text = words(drawing.figure)
        assert "not co" in text or "no trajectories" in text
        render(drawing.figure)


def test_full_has_enough_starts() -> None:
    swing = [config for config in arms_of(EXPERIMENT, "full").values() if config.asked == "swing"]
    assert all(config.starts >= 300 for config in swing)
    assert {gap for config in swing for gap in config.gaps} >= {1.5, 2.0, 3.0}
