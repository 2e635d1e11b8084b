"""The phase diagram: its cells against flows made by hand, its rules on counts that are known, its figures."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
import torch
from matplotlib.figure import Figure

from recombine.errors import UserError
from recombine.lab.statistics import proportion_interval
from recombine.lab.table import make_table
from recombine.seeds import fold
from recombine.settings import override
from recombine.studies.identity_mapping.phase_diagram import figures as drawings
from recombine.studies.identity_mapping.phase_diagram.claims import (
    BASE,
    PHASE,
    along,
    cells,
    counted,
    difference,
    judge_trend,
    told,
    where,
)
from recombine.studies.identity_mapping.phase_diagram.experiment import EXPERIMENT, Cell, PhaseConfig
from recombine.theory.identity.flow import descents, flow, gaussian_start, positive_start, probe_loss
from support import tables
from support.pictures import render, words

Counted = Mapping[str, Mapping[str, float]]


def table_of(arms: Mapping[str, Counted]) -> pl.DataFrame:
    """{arm: {node: {instrument: value}}} as the lab stores it."""
    return make_table(
        [
            ("s", "e", arm, 0, 0, node, None, instrument, value)
            for arm, nodes in arms.items()
            for node, values in nodes.items()
            for instrument, value in values.items()
        ]
    )


def node(**changed: object) -> str:
    """A cell's name: the released start at gap 2, with some of it changed."""
    order = ("gap", "scale", "start", "h", "d", "model", "size", "power")
    said = {"gap": "2", **BASE, **{key: str(value) for key, value in changed.items()}}
    return ",".join(f"{key}={said[key]}" for key in order)


def some(bumps: float, flows: float = 200, **more: float) -> dict[str, float]:
    return {"flows": flows, "bumps": bumps, **more}


def judge(claim: str, nodes: Counted) -> dict[str, Any]:
    return tables.judge(PHASE, claim, table_of({"arm": nodes}))


def by_node(config: PhaseConfig) -> dict[str, dict[str, float]]:
    return cells(table_of({"arm": {}}).vstack(make_table([
        ("s", "e", "arm", 0, row["images_seen"], row["node"], None, row["instrument"], row["value"])
        for row in config.rows()
    ])))  # fmt: skip


# Rows


def test_a_cell_counts_the_bumps_of_its_own_flows() -> None:
    config = PhaseConfig(gaps=(2.0,), scales=(0.1, 0.2), starts=40)
    found = by_node(config)
    assert set(found) == {node(scale="0.1"), node(scale="0.2")}
    a = torch.tensor([0.5025, 2.0025, 0.0025], dtype=torch.float64)
    for scale in (0.1, 0.2):
        seed = fold(0, node(scale=scale).removesuffix(",power=1"))
        _, weights = flow(positive_start(40, 3, 3, scale, seed), a, 0.02, 800)
        bumps = descents(probe_loss(weights, torch.tensor([1.0, 2.0, 0.0]).double()), 0.001).bump
        values = found[node(scale=scale)]
        assert abs(values["bumps"] - float(bumps.sum())) <= 1  # another step: a rise at the threshold may differ
        assert values["flows"] == 40
        assert values["unfinished"] == values["rises"] == 0
        assert values["agree"] >= 36
        assert 0 < values["height"] < 1


def test_all_that_is_listed_is_combined() -> None:
    config = PhaseConfig(gaps=(1.5, 2.0), scales=(0.1, 0.2), signs=("positive", "half"), widths=(2, None), starts=1)
    assert len(config.cells()) == 16
    assert {cell.width for cell in config.cells()} == {2, 3}
    assert Cell(1.5, 0.1, "half", 2, 3, 0) in config.cells()


def test_powers_share_their_starts_and_other_cells_do_not() -> None:
    plain, squared = (PhaseConfig(power=power, gaps=(1.5, 2.0)) for power in (1, 2))
    narrow, wide = plain.cells()
    assert torch.equal(plain._start(narrow), squared._start(narrow))
    assert not torch.equal(plain._start(narrow), plain._start(wide))
    torch.testing.assert_close(squared.moments(wide)[0], plain.moments(wide)[0] ** 2)


@pytest.mark.parametrize(("sign", "below"), [("positive", 0.0), ("quarter", 0.25), ("half", 0.5), ("symmetric", 1.0)])
def test_how_far_below_zero_a_start_reaches(sign: str, below: float) -> None:
    config = PhaseConfig.model_validate({"signs": [sign], "gaps": [2.0], "starts": 2000})
    start = config._start(config.cells()[0])
    assert float(start.max()) == pytest.approx(0.2, abs=1e-3)
    assert float(start.min()) == pytest.approx(-0.2 * below, abs=1e-3)


def test_even_size_keeps_the_start_as_large_at_any_width() -> None:
    config = PhaseConfig(signs=("gaussian",), gaps=(2.0,), widths=(3, 48), even=True, starts=500)
    narrow, wide = ((start @ start.mT).diagonal(dim1=1, dim2=2).mean() for start in map(config._start, config.cells()))
    assert float(wide / narrow) == pytest.approx(1, abs=0.05)
    seed = fold(0, config.cells()[1].named(even=True))
    torch.testing.assert_close(config._start(config.cells()[1]), gaussian_start(500, 3, 48, 0.05, seed))


def test_untied_nets_learn_and_their_training_loss_never_rises() -> None:
    (values,) = by_node(PhaseConfig(gaps=(2.0,), layers=(3,), starts=20, patience=45)).values()
    assert values["flows"] == 20
    assert values["rises"] == 0
    assert values["unfinished"] <= 2
    assert values["bumps"] >= 17  # 200 of 200 in a pilot
    assert values["bumps.helped"] == values["bumps"]  # the product of positive matrices is positive


def test_a_net_starts_with_the_entries_of_the_flow() -> None:
    """The map of two positive matrices with entries in (0, 0.2), d = 3, has a mean entry of 3 * 0.1^2."""
    config = PhaseConfig(gaps=(2.0,), layers=(2,), starts=400, patience=0.1)
    _, _, first = config._descend(config.cells()[0])
    assert float(first.mean()) == pytest.approx(0.03, rel=0.05)
    config = PhaseConfig(gaps=(2.0,), layers=(2,), signs=("gaussian",), starts=2000, patience=0.1)
    _, _, first = config._descend(config.cells()[0])
    assert float(first.std()) == pytest.approx(3**0.5 * 0.04, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gaps": [0.5]}, "gaps"),
        ({"scales": [0]}, "scales"),
        ({"signs": ["negative"]}, "signs"),
        ({"dimensions": [1]}, "dimensions"),
        ({"power": 3}, "power"),
        ({"layers": [2], "power": 2}, "nets are as wide as d"),
        ({"layers": [2], "signs": ["half"]}, "nets are as wide as d"),
        ({"start": 5}, "did you mean 'starts'"),
    ],
)
def test_bad_settings_are_one_line(changes: Mapping[str, Any], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(PhaseConfig(), changes)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


# Rules


def test_of_two_arms_with_the_same_cell_the_one_with_more_starts_counts() -> None:
    table = table_of({"one": {node(): some(3, 20)}, "two": {node(): some(9, 50)}, "three": {node(): some(1, 10)}})
    assert counted(cells(table)) == (9, 50)


def test_cells_are_found_by_name() -> None:
    found = cells(table_of({"arm": {node(gap="1.5"): some(1), node(gap="10"): some(2), node(h="8"): some(3)}}))
    assert told(node(gap="1.5"))["gap"] == "1.5"
    assert along(found, "gap", BASE) == {"1.5": (1, 200), "10": (2, 200)}
    assert counted(where(found, h="8")) == (3, 200)
    assert counted(where(found, h="9")) == (0, 0)


def test_a_difference_is_between_the_ends_of_two_intervals() -> None:
    low, high = difference((150, 200), (40, 200))
    more, less = (proportion_interval(k, 200, 0.975) for k in (150, 40))
    assert (low, high) == pytest.approx((more[0] - less[1], more[1] - less[0]))
    assert low < 0.55 < high


@pytest.mark.parametrize(
    ("bumps", "verdict"),
    [([5, 80, 160], "holds"), ([160, 80, 5], "fails"), ([80, 80, 82], "undecided"), ([5, 190, 120], "fails"),
     ([5, 82, 80], "holds")],
)  # fmt: skip
def test_a_trend(bumps: list[int], verdict: str) -> None:
    series = {str(number): (k, 200) for number, k in enumerate(bumps)}
    judged = judge_trend(series, rising=True)
    assert judged.verdict == verdict
    assert judged.estimate == pytest.approx((bumps[-1] - bumps[0]) / 200)
    assert judged.n == 200
    turned = judge_trend(dict(reversed(series.items())), rising=False)
    assert (turned.verdict, turned.estimate) == (judged.verdict, judged.estimate)


def test_the_gap() -> None:
    rising = {node(gap=gap): some(k) for gap, k in (("1.1", 2), ("1.5", 80), ("3", 196))}
    aside = {node(gap="1.1", start="gaussian"): some(200), node(gap="3", scale="0.1"): some(0)}
    answer = judge("PH1", {**rising, **aside})
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(0.97), 200)
    assert answer["note"] == "1.1: 0.010, 1.5: 0.400, 3: 0.980"


@pytest.mark.parametrize(("bumps", "verdict"), [(190, "holds"), (165, "undecided"), (100, "fails")])
def test_small_starts(bumps: int, verdict: str) -> None:
    answer = judge("PH2", {node(scale="0.2"): some(0), node(scale="0.01"): some(bumps)})
    assert (answer["verdict"], answer["note"]) == (verdict, "scale 0.01")


def test_scales_fall_at_their_gap() -> None:
    for claim, gap in (("PH2b", "2"), ("PH2c", "1.2")):
        chosen = {node(gap=gap, scale="0.01"): some(180), node(gap=gap, scale="0.5"): some(20)}
        other = {node(gap="3", scale="0.01"): some(0)}
        assert judge(claim, {**chosen, **other})["verdict"] == "holds"


def test_the_square_is_compared_where_both_were_counted() -> None:
    both = {node(power=1): some(40), node(power=2): some(160)}
    answer = judge("PH3", {**both, node(gap="3", power=1): some(200), node(power=2, h="8"): some(0)})
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(0.6))
    assert tables.undecided(judge("PH3", {node(power=1): some(1)}))


def test_positive_against_gaussian_over_the_same_gaps() -> None:
    cut = {
        node(gap=gap, start=start): some(k)
        for gap in ("1.5", "2")
        for start, k in (("positive", 120), ("gaussian", 20))
    }
    answer = judge("PH4", {**cut, node(gap="1.1"): some(0)})
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(0.5), 400)


def test_the_share_below_zero() -> None:
    falling = zip(("positive", "quarter", "half", "symmetric"), (180, 120, 80, 40), strict=True)
    answer = judge("PH4b", {node(start=start): some(k) for start, k in falling})
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(0.7))


@pytest.mark.parametrize(("bumps", "verdict"), [(0, "holds"), (10, "undecided"), (40, "fails")])
def test_wide_gaussian_starts(bumps: int, verdict: str) -> None:
    assert judge("PH5", {node(gap="1.5", start="gaussian", h="64"): some(bumps)})["verdict"] == verdict


def test_widths_in_order_of_number() -> None:
    for claim, start in (("PH5b", "gaussian"), ("PH5c", "positive")):
        cut = {node(start=start, size="even", h=h): some(k) for h, k in (("2", 150), ("16", 60), ("4", 100))}
        answer = judge(claim, {**cut, node(start=start, h="64"): some(200)})
        assert (answer["verdict"], answer["note"]) == ("holds", "2: 0.750, 4: 0.500, 16: 0.300")


@pytest.mark.parametrize(("agree", "verdict"), [(400, "holds"), (381, "undecided"), (350, "fails")])
def test_the_prediction(agree: int, verdict: str) -> None:
    half = {node(scale="0.1"): some(5, agree=agree / 2 + 0), node(scale="0.2"): some(5, agree=agree - agree / 2)}
    answer = judge("PH6", {**half, node(h="8"): some(5, agree=0)})
    assert (answer["verdict"], answer["n"]) == (verdict, 400)
    assert answer["note"].startswith("worst cell")


def test_depth_is_pooled() -> None:
    nets = {
        node(model=f"net{n}", start=s): some(k)
        for n, k in ((2, 90), (3, 120), (4, 160))
        for s in ("positive", "gaussian")
    }
    answer = judge("PH7", nets)
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(0.35), 400)


def test_dimensions_are_those_with_a_u_as_wide() -> None:
    for claim, start, size in (("PH8", "gaussian", "plain"), ("PH8b", "positive", "even")):
        cut = {node(start=start, size=size, d=d, h=d): some(k) for d, k in ((2, 100), (3, 60), (16, 0))}
        answer = judge(claim, {**cut, node(start=start, size=size, d=3, h=64): some(200, 500)})
        assert (answer["verdict"], answer["note"]) == ("holds", "2: 0.500, 3: 0.300, 16: 0.000")


@pytest.mark.parametrize(("helped", "verdict"), [(100, "holds"), (97, "undecided"), (80, "fails")])
def test_gaussian_bumps_with_a_positive_minor(helped: int, verdict: str) -> None:
    nodes = {node(start="gaussian"): some(100, **{"bumps.helped": helped}),
             node(start="positive"): some(100, **{"bumps.helped": 0})}  # fmt: skip
    answer = judge("PH9", nodes)
    assert (answer["verdict"], answer["n"]) == (verdict, 100)


def test_one_rise_in_training_is_one_too_many() -> None:
    assert judge("PH10", {node(): some(1, rises=0)})["verdict"] == "holds"
    answer = judge("PH10", {node(): some(1, rises=1), node(h="8"): some(1, rises=0)})
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", pytest.approx(0.9975), 400)


def test_an_empty_table_decides_nothing() -> None:
    for claim in PHASE:
        assert tables.undecided(tables.judge(PHASE, claim.id, make_table([])))


# Figures, and the whole


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    rows = [
        (
            EXPERIMENT.study,
            EXPERIMENT.name,
            arm,
            0,
            row["images_seen"],
            row["node"],
            None,
            row["instrument"],
            row["value"],
        )
        for arm, config in EXPERIMENT.budgets["smoke"].arms.items()
        if isinstance(config, PhaseConfig)
        for row in config.rows()
    ]
    return make_table(rows)


def test_smoke_has_what_most_claims_need(smoke: pl.DataFrame) -> None:
    answers = {claim.id: tables.judge(PHASE, claim.id, smoke) for claim in PHASE}
    lacking = {name for name, answer in answers.items() if answer["n"] == 0}
    assert lacking == {"PH2c", "PH5"}  # no gap of 1.2, no width of 64
    assert answers["PH10"]["estimate"] == 1


def test_figures_of_smoke_are_drawn(smoke: pl.DataFrame) -> None:
    found = EXPERIMENT.draw(smoke, PhaseConfig())
    assert set(found) == {"figure", "cuts"}
    assert "Share of flows that swing by" in words(found["figure"].figure)
    for drawing in found.values():
        assert len(render(drawing.figure)) > 5_000


def test_the_diagram_shows_each_share() -> None:
    grid = {
        node(gap=gap, scale=scale, power=power): some(k, predicted=k, height=0.1)
        for power in (1, 2)
        for gap, scale, k in (("1.1", "0.1", 10), ("2", "0.1", 180), ("1.1", "0.2", 26), ("2", "0.2", 134))
    }
    said = words(drawings.diagram(table_of({"arm": grid}))).splitlines()
    assert {"5", "90", "13", "67"} <= set(said)
    assert "200 or more positive starts" in " ".join(said)


def test_what_was_not_counted_is_said() -> None:
    for figure in (drawings.diagram(make_table([])), drawings.cuts(make_table([]))):
        assert isinstance(figure, Figure)
        assert "not counted" in words(figure)
        render(figure)


def test_full_has_enough_flows() -> None:
    arms = [config for config in EXPERIMENT.budgets["full"].arms.values() if isinstance(config, PhaseConfig)]
    assert sum(len(config.cells()) * config.starts for config in arms) >= 20_000
    assert all(config.starts >= 200 for config in arms)
