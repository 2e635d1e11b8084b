"""The linear denoiser: its rows against known limits, its rules on readings made by hand, its figures."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.lab.table import make_table
from recombine.settings import override
from recombine.studies.identity_mapping.linear_denoiser import experiment as linear_denoiser
from recombine.studies.identity_mapping.linear_denoiser import figures as drawings
from recombine.studies.identity_mapping.linear_denoiser.claims import LINEAR, by_gap, counts, levels_at
from recombine.studies.identity_mapping.linear_denoiser.experiment import EXPERIMENT, LinearDenoiserConfig
from support import tables
from support.pictures import render, words

Reading = tuple[int, str, str, float | None]
"""images_seen, node, instrument, value"""


def table_of(readings: Iterable[Reading]) -> pl.DataFrame:
    return make_table([("s", "e", "a", 0, seen, node, None, name, value) for seen, node, name, value in readings])


def rows_of(config: LinearDenoiserConfig) -> pl.DataFrame:
    return table_of((row["images_seen"], row["node"], row["instrument"], row["value"]) for row in config.rows())


def value(table: pl.DataFrame, node: str, instrument: str, seen: int = 0) -> float:
    chosen = table.filter((pl.col("node") == node) & (pl.col("instrument") == instrument))
    return float(chosen.filter(pl.col("images_seen") == seen)["value"].item())


def judge(claim: str, readings: Iterable[Reading]) -> dict[str, Any]:
    return tables.judge(LINEAR, claim, table_of(readings))


# Rows


def test_levels_at_their_limits() -> None:
    table = rows_of(LinearDenoiserConfig(asked="levels", spreads=((0.6, 0.05),), steps=5))
    for told, concept, a in (("class", 1, 0.5), ("class", 2, 2.0), ("value", 1, 0.86), ("value", 2, 2.0025)):
        node = f"gap=2,spread=0.6:0.05,told={told},concept={concept}"
        limit = math.log(5) / a
        assert value(table, node, "limit") == pytest.approx(limit)
        assert value(table, node, "time", 80_000_000) == pytest.approx(limit, rel=2e-3)
    node = "gap=2,spread=0.6:0.05,told=class,concept=1"
    assert value(table, node, "used", 80_000_000) == pytest.approx(80**2 / (80**2 + 0.36), rel=1e-6)
    assert value(table, node, "used", 2000) == pytest.approx(0.002**2 / (0.002**2 + 0.36), rel=1e-6)


def test_the_order_in_samples_turns_with_the_spread_if_told_the_value() -> None:
    table = rows_of(LinearDenoiserConfig(asked="order", spreads=((0.05, 0.05), (2.0, 0.05)), moments=800))
    for model in ("apart", "edm"):
        times = {
            (told, spread, concept): value(
                table, f"gap=2,spread={spread}:0.05,told={told},model={model},concept={concept}", "time"
            )
            for told in ("class", "value")
            for spread in ("0.05", "2")
            for concept in (1, 2)
        }
        assert times["class", "0.05", 1] > times["class", "0.05", 2]
        assert times["class", "2", 1] > times["class", "2", 2]
        assert times["value", "0.05", 1] > times["value", "0.05", 2]
        assert times["value", "2", 1] < times["value", "2", 2]


@pytest.fixture(scope="module")
def swung() -> pl.DataFrame:
    config = LinearDenoiserConfig(asked="swing", models=("apart", "edm", "best"), starts=12, steps=5, moments=151)
    return rows_of(config.replace(shown=2))


def test_the_noisiest_level_and_the_best_m_do_what_identity_mapping_does(swung: pl.DataFrame) -> None:
    found = counts(swung)
    node = "gap=2,start=positive,model="
    mapped = found[f"{node}identity"]
    assert mapped[1] == 12
    assert 4 <= mapped[0] <= 12  # 0.72 of 400
    assert found[f"{node}best"] == mapped
    assert found[f"{node}level,sigma=80"] == mapped
    assert found[f"{node}level,sigma=0.002"] == (0, 12)
    assert value(swung, f"{node}apart", "alike") == 12
    assert value(swung, f"{node}best", "retreat.median") == pytest.approx(
        value(swung, f"{node}identity", "retreat.median"), abs=0.01
    )


def test_one_layer_does_not_swing_by(swung: pl.DataFrame) -> None:
    for model in ("flat-apart", "flat-edm"):
        assert value(swung, f"gap=2,start=positive,model={model}", "zero") == pytest.approx(0, abs=1e-9)
        assert counts(swung)[f"gap=2,start=positive,model={model}"] == (0, 12)


def test_trajectories_are_kept_for_the_starts_shown(swung: pl.DataFrame) -> None:
    shown = swung.filter(pl.col("instrument") == "share.1")["node"].unique().sort().to_list()
    deep = [f"gap=2,start=positive,model={m},number={k}" for m in ("apart", "best", "edm", "identity") for k in (0, 1)]
    flat = [f"gap=2,start=positive,model=flat-{m},number=0" for m in ("apart", "edm")]
    assert shown == sorted(deep + flat)
    path = swung.filter((pl.col("node") == deep[-1]) & (pl.col("instrument") == "share.2")).sort("images_seen")
    assert path["value"][-1] == pytest.approx(1, abs=1e-3)
    assert path["images_seen"][1] == 200


def test_how_many_starts_are_followed_at_once_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    few = LinearDenoiserConfig(asked="swing", models=("apart", "edm"), starts=5, steps=3, moments=21, span=8.0)
    together = few.rows()
    monkeypatch.setattr(linear_denoiser, "AT_ONCE", 6)  # two starts of three levels
    for one, other in zip(few.rows(), together, strict=True):
        assert (one["node"], one["instrument"]) == (other["node"], other["instrument"])
        assert one["value"] == pytest.approx(other["value"], abs=1e-12)


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


def levelled(told: str, spread: str, times: Mapping[float, tuple[float, float]]) -> list[Reading]:
    """Learning times of both concepts over sigma."""
    node = f"gap=2,spread={spread}:0.05,told={told},concept="
    return [
        (round(1e6 * sigma), f"{node}{concept + 1}", "time", pair[concept])
        for sigma, pair in times.items()
        for concept in range(2)
    ]


@pytest.mark.parametrize(("off", "verdict"), [(1.005, "holds"), (1.02, "fails")])
def test_the_limit_is_read_at_the_most_noise(off: float, verdict: str) -> None:
    readings: list[Reading] = []
    for number in range(6):
        node = f"gap=2,spread={number}:0.05,told=class,concept=1"
        readings += [(0, node, "limit", 3.0), (10, node, "time", 9.0), (80, node, "time", 3.0 * off)]
    answer = judge("LD1", readings)
    assert (answer["verdict"], answer["n"]) == (verdict, 6)


@pytest.mark.parametrize(
    ("least", "most", "verdict"), [(0.001, 0.999, "holds"), (0.02, 0.999, "fails"), (0.001, 0.9, "fails")]
)
def test_the_use_of_the_condition(least: float, most: float, verdict: str) -> None:
    readings: list[Reading] = []
    for number in range(6):
        node = f"gap=2,spread={number}:0.05,told=class,concept=1"
        readings += [(1, node, "used", least), (10, node, "used", 0.5), (100, node, "used", most)]
        readings += [(1, node.replace("class", "value"), "used", 1.0)]
    assert judge("LD1b", readings)["verdict"] == verdict


def test_the_order_over_noise_told_the_class() -> None:
    right = {0.002: (0.3, 0.4), 0.01: (0.3, 0.4), 1.0: (9.0, 0.1), 10.0: (3.0, 0.8), 40.0: (3.0, 0.8), 80.0: (3.0, 0.8)}
    readings = levelled("class", "2", right)
    narrow = levelled("class", "0.05", dict.fromkeys(right, (3.0, 0.8)))  # nothing to turn: not counted
    answer = judge("LD1c", [*readings, *narrow])
    assert (answer["verdict"], answer["n"]) == ("holds", 5)  # sigma = 1 is between
    answer = judge("LD1c", levelled("class", "2", {**right, 0.002: (0.5, 0.4)}))
    assert (answer["verdict"], answer["estimate"]) == ("fails", pytest.approx(0.8))


def test_the_order_over_noise_told_the_value() -> None:
    sigmas = (0.01, 0.1, 1.0, 10.0)
    narrow, wide = (
        levelled("value", s, dict.fromkeys(sigmas, t)) for s, t in (("1.2", (2.0, 1.0)), ("1.25", (1.0, 2.0)))
    )
    answer = judge("LD1d", [*narrow, *wide])
    assert (answer["verdict"], answer["n"]) == ("holds", 8)
    assert judge("LD1d", levelled("value", "1.25", dict.fromkeys((*sigmas, 80.0), (2.0, 1.0))))["verdict"] == "fails"


def generated(told: str, times: Mapping[str, tuple[float, float]]) -> list[Reading]:
    return [
        (0, f"gap=2,spread={spread}:0.05,told={told},model={model},concept={concept + 1}", "time", pair[concept])
        for spread, pair in times.items()
        for model in ("apart", "edm")
        for concept in range(2)
    ]


def test_the_order_in_what_is_generated() -> None:
    steady = {"0.05": (4.0, 1.0), "1": (3.0, 1.0), "2": (2.0, 1.0)}
    turning = {**steady, "2": (0.5, 1.0)}
    readings = [*generated("class", steady), *generated("value", turning)]
    for claim, span in (("LD2", "2.00 to 4.00"), ("LD2b", "0.50 to 4.00")):
        answer = judge(claim, readings)
        assert (answer["verdict"], answer["n"]) == ("holds", 6)
        assert answer["note"].endswith(span)
    swapped = [*generated("class", turning), *generated("value", steady)]
    assert [judge(claim, swapped)["verdict"] for claim in ("LD2", "LD2b")] == ["fails", "fails"]


def counted(model: str, k: int, gap: str = "2", n: int = 400, start: str = "positive", **more: float) -> list[Reading]:
    node = f"gap={gap},start={start},model={model}"
    values = {"starts": n, "retreat.05": k, "retreat.01": k, **more}
    return [(0, node, name, float(number)) for name, number in values.items()]


@pytest.mark.parametrize(("k", "verdict"), [(256, "holds"), (205, "undecided"), (120, "fails")])
def test_how_often_samples_retreat(k: int, verdict: str) -> None:
    answer = judge("LD3", [*counted("edm", k), *counted("edm", 0, "3"), *counted("best", 0)])
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, pytest.approx(k / 400), 400)


def test_gaps_in_order_of_number() -> None:
    readings = [r for gap, k in (("1.5", 80), ("3", 390), ("1.1", 0), ("2", 250)) for r in counted("edm", k, gap)]
    assert list(by_gap(counts(table_of(readings)), "edm")) == ["1.1", "1.5", "2", "3"]
    assert judge("LD3b", readings)["verdict"] == "holds"


def test_one_layer_from_zero() -> None:
    nodes = [f"gap={gap},start=positive,model=flat-{model}" for gap in (1, 2, 3) for model in ("apart", "edm")]
    still: list[Reading] = [(0, node, "zero", 0.0) for node in nodes]
    assert judge("LD3c", still)["verdict"] == "holds"
    assert judge("LD3c", [*still[1:], (0, nodes[0], "zero", 1e-3)])["verdict"] == "fails"


@pytest.mark.parametrize(("k", "verdict"), [(2, "holds"), (60, "fails")])
def test_one_layer_from_the_same_start(k: int, verdict: str) -> None:
    answer = judge("LD3d", [*counted("flat-edm", k), *counted("flat-apart", k, "3"), *counted("edm", 400)])
    assert (answer["verdict"], answer["n"]) == (verdict, 800)


def test_positive_against_gaussian() -> None:
    readings = [*counted("edm", 256, setback=297), *counted("edm", 153, start="gaussian", setback=61)]
    answer = judge("LD3e", readings)
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(103 / 400))
    assert answer["note"] == "256 of 400 and 153 of 400; the loss rises in 297 and 61"


def levels_of(share: Mapping[str, int]) -> list[Reading]:
    return [
        (round(1e6 * float(sigma)), node, name, value)
        for sigma, k in share.items()
        for _, node, name, value in counted(f"level,sigma={sigma}", k)
    ]


def test_levels_from_little_noise_to_much() -> None:
    readings = levels_of({"80": 288, "0.002": 0, "0.2": 0, "3.7": 250})
    assert list(levels_at(table_of(readings), "2")) == [0.002, 0.2, 3.7, 80]
    assert judge("LD4", readings)["verdict"] == "holds"
    answer = judge("LD4b", readings)
    assert (answer["verdict"], answer["n"]) == ("holds", 800)
    assert judge("LD4", levels_of({"0.002": 288, "80": 0}))["verdict"] == "fails"
    assert judge("LD4b", levels_of({"0.002": 288, "80": 0}))["verdict"] == "fails"


@pytest.mark.parametrize(("alike", "verdict"), [(400, "holds"), (300, "fails")])
def test_the_noisiest_level_start_by_start(alike: int, verdict: str) -> None:
    answer = judge("LD5", [*counted("apart", 100, alike=alike), *counted("apart", 5, "3", alike=alike)])
    assert (answer["verdict"], answer["n"]) == (verdict, 800)


def test_samples_against_identity_mapping_over_the_gaps_of_both() -> None:
    readings = [
        r for model, k in (("identity", 300), ("edm", 200)) for gap in ("1.5", "2") for r in counted(model, k, gap)
    ]
    answer = judge("LD6", [*readings, *counted("identity", 0, "1.1"), *counted("edm", 400, "1.1")])
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(0.25), 800)
    assert "identity 0.750, 0.750; apart not counted; edm 0.500, 0.500" in answer["note"]


def test_an_empty_table_decides_nothing() -> None:
    for claim in LINEAR:
        assert tables.undecided(judge(claim.id, []))


# Figures, and the whole


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    return pl.concat(
        [
            rows_of(config)
            for config in EXPERIMENT.budgets["smoke"].arms.values()
            if isinstance(config, LinearDenoiserConfig)
        ]
    )


def test_smoke_has_what_the_claims_need(smoke: pl.DataFrame) -> None:
    lacking = {claim.id for claim in LINEAR if tables.judge(LINEAR, claim.id, smoke)["n"] == 0}
    assert lacking == {"LD3b"}  # one gap only


def test_figures_of_smoke_are_drawn(smoke: pl.DataFrame) -> None:
    found = EXPERIMENT.draw(smoke, LinearDenoiserConfig())
    assert set(found) == {"figure", "trajectories", "swing"}
    assert "Told the class" in words(found["figure"].figure)
    assert "n = 6 starts" in words(found["swing"].figure)
    for drawing in found.values():
        assert "not co" not in words(drawing.figure)
        assert len(render(drawing.figure)) > 5_000


def test_what_was_not_computed_is_said() -> None:
    for draw in (drawings.learning, drawings.trajectories, drawings.swing):
        figure = draw(make_table([]))
        assert "not co" in words(figure) or "no trajectories" in words(figure)
        render(figure)


def test_full_has_enough_starts() -> None:
    arms = [config for config in EXPERIMENT.budgets["full"].arms.values() if isinstance(config, LinearDenoiserConfig)]
    assert all(config.starts >= 300 for config in arms if config.asked == "swing")
    assert {gap for config in arms if config.asked == "swing" for gap in config.gaps} >= {1.5, 2.0, 3.0}
