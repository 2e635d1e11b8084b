"""The phase diagram: its cells against flows made by hand, its rules on counts that are known, its figures."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.lab.table import make_table
from recombine.runs.identity.phase_diagram import COLUMNS, Cell, PhaseConfig
from recombine.seeds import fold
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.phase_diagram.claims import BASE, CLAIMS, along, cells, counted
from recombine.studies.identity_mapping.phase_diagram.figures import draw
from recombine.theory.identity.flow import descents, flow, gaussian_start, positive_start, probe_loss
from support import tables
from support.identity_tables import arms_of, by_hand, computed
from support.pictures import render, words

EXPERIMENT = EXPERIMENTS["identity-mapping/phase-diagram"]
Rows = list[dict[str, Any]]


def some(bumps: float, flows: float = 200, more: Mapping[str, float] | None = None, **changed: Any) -> Rows:
    """What is counted in one cell: the released start at gap 2, with some of it changed."""
    cell = {"arm": "arm", "gap": 2.0, **BASE, **changed}
    counts = {"flows": flows, "bumps": bumps, **(more or {})}
    return [{**cell, "instrument": name, "value": value} for name, value in counts.items()]


def table_of(*found: Rows) -> pl.DataFrame:
    return by_hand(EXPERIMENT, [row for rows in found for row in rows])


def judge(claim: str, *found: Rows) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table_of(*found))


def computed_cells(config: PhaseConfig) -> pl.DataFrame:
    return cells(computed(EXPERIMENT, {"arm": config}))


EMPTY = make_table([], COLUMNS)


# Rows


def test_a_cell_counts_the_bumps_of_its_own_flows() -> None:
    config = PhaseConfig(gaps=(2.0,), scales=(0.1, 0.2), starts=40)
    found = computed_cells(config)
    assert sorted(found["scale"]) == [0.1, 0.2]
    assert found.select("width", "dimensions", "layers", "even", "power").unique().rows() == [(3, 3, 0, False, 1)]
    a = torch.tensor([0.5025, 2.0025, 0.0025], dtype=torch.float64)
    for scale in (0.1, 0.2):
        seed = fold(0, f"gap=2,scale={scale},start=positive,h=3,d=3,model=tied,size=plain")
        _, weights = flow(positive_start(40, 3, 3, scale, seed), a, 0.02, 800)
        bumps = descents(probe_loss(weights, torch.tensor([1.0, 2.0, 0.0]).double()), 0.001).bump
        values = found.row(by_predicate=pl.col("scale") == scale, named=True)
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
    seed = fold(0, config.cells()[1].seed_name(even=True))
    torch.testing.assert_close(config._start(config.cells()[1]), gaussian_start(500, 3, 48, 0.05, seed))


def test_untied_nets_learn_and_their_training_loss_never_rises() -> None:
    (values,) = computed_cells(PhaseConfig(gaps=(2.0,), layers=(3,), starts=20, patience=45)).rows(named=True)
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
    table = table_of(some(3, 20, arm="one"), some(9, 50, arm="two"), some(1, 10, arm="three"))
    assert counted(cells(table)) == (9, 50)


def test_cells_are_found_by_their_columns() -> None:
    found = cells(table_of(some(1, gap=1.5), some(2, gap=10.0), some(3, width=8)))
    assert along(found, "gap", **BASE) == {1.5: (1, 200), 10.0: (2, 200)}
    assert counted(found, width=8) == (3, 200)
    assert counted(found, width=9) == counted(found, "agree") == (0, 0)


def test_the_gap() -> None:
    found = [some(k, gap=gap) for gap, k in ((1.1, 2), (1.5, 80), (3.0, 196))]
    answer = judge("PH1", *found, some(200, gap=1.1, start="gaussian"), some(0, gap=3.0, scale=0.1))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(0.97), 200)
    assert answer["note"] == "1.1: 0.010, 1.5: 0.400, 3: 0.980"


@pytest.mark.parametrize(("bumps", "verdict"), [(190, "holds"), (165, "undecided"), (100, "fails")])
def test_small_starts(bumps: int, verdict: str) -> None:
    answer = judge("PH2", some(0, scale=0.2), some(bumps, scale=0.01))
    assert (answer["verdict"], answer["note"]) == (verdict, "scale 0.01")


def test_scales_fall_at_their_gap() -> None:
    for claim, gap in (("PH2b", 2.0), ("PH2c", 1.2)):
        found = some(180, gap=gap, scale=0.01), some(20, gap=gap, scale=0.5), some(0, gap=3.0, scale=0.01)
        assert judge(claim, *found)["verdict"] == "holds"


def test_the_square_is_compared_where_both_were_counted() -> None:
    both = some(40, power=1), some(160, power=2)
    answer = judge("PH3", *both, some(200, gap=3.0, power=1), some(0, power=2, width=8))
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(0.6))
    assert tables.undecided(judge("PH3", some(1)))


def test_positive_against_gaussian_over_the_same_gaps() -> None:
    cut = [some(k, gap=gap, start=start) for gap in (1.5, 2.0) for start, k in (("positive", 120), ("gaussian", 20))]
    answer = judge("PH4", *cut, some(0, gap=1.1))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(0.5), 400)


def test_the_share_below_zero() -> None:
    falling = zip(("positive", "quarter", "half", "symmetric"), (180, 120, 80, 40), strict=True)
    answer = judge("PH4b", *(some(k, start=start) for start, k in falling))
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(0.7))


@pytest.mark.parametrize(("bumps", "verdict"), [(0, "holds"), (10, "undecided"), (40, "fails")])
def test_wide_gaussian_starts(bumps: int, verdict: str) -> None:
    assert judge("PH5", some(bumps, gap=1.5, start="gaussian", width=64))["verdict"] == verdict


def test_widths_in_order_of_number() -> None:
    for claim, start in (("PH5b", "gaussian"), ("PH5c", "positive")):
        cut = [some(k, start=start, even=True, width=h) for h, k in ((2, 150), (16, 60), (4, 100))]
        answer = judge(claim, *cut, some(200, start=start, width=64))
        assert (answer["verdict"], answer["note"]) == ("holds", "2: 0.750, 4: 0.500, 16: 0.300")


@pytest.mark.parametrize(("agree", "verdict"), [(400, "holds"), (381, "undecided"), (350, "fails")])
def test_the_prediction(agree: int, verdict: str) -> None:
    half = [
        some(5, more={"agree": part}, scale=scale) for part, scale in ((agree // 2, 0.1), (agree - agree // 2, 0.2))
    ]
    answer = judge("PH6", *half, some(5, more={"agree": 0}, width=8))
    assert (answer["verdict"], answer["n"]) == (verdict, 400)
    assert answer["note"].startswith("worst cell")


def test_depth_is_pooled() -> None:
    nets = [some(k, layers=n, start=s) for n, k in ((2, 90), (3, 120), (4, 160)) for s in ("positive", "gaussian")]
    answer = judge("PH7", *nets)
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(0.35), 400)


def test_dimensions_are_those_with_a_u_as_wide() -> None:
    for claim, start, even in (("PH8", "gaussian", False), ("PH8b", "positive", True)):
        cut = [some(k, start=start, even=even, dimensions=d, width=d) for d, k in ((2, 100), (3, 60), (16, 0))]
        answer = judge(claim, *cut, some(200, 500, start=start, even=even, dimensions=3, width=64))
        assert (answer["verdict"], answer["note"]) == ("holds", "2: 0.500, 3: 0.300, 16: 0.000")


@pytest.mark.parametrize(("helped", "verdict"), [(100, "holds"), (97, "undecided"), (80, "fails")])
def test_gaussian_bumps_with_a_positive_minor(helped: int, verdict: str) -> None:
    found = some(100, more={"bumps.helped": helped}, start="gaussian"), some(100, more={"bumps.helped": 0})
    answer = judge("PH9", *found)
    assert (answer["verdict"], answer["n"]) == (verdict, 100)


def test_one_rise_in_training_is_one_too_many() -> None:
    assert judge("PH10", some(1, more={"rises": 0}))["verdict"] == "holds"
    answer = judge("PH10", some(1, more={"rises": 1}), some(1, more={"rises": 0}, width=8))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", pytest.approx(0.9975), 400)


def test_an_empty_table_decides_nothing() -> None:
    for claim in CLAIMS:
        assert tables.undecided(tables.judge(CLAIMS, claim.id, EMPTY))


# Figures, and the whole


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    return computed(EXPERIMENT, arms_of(EXPERIMENT, "smoke"))


def test_smoke_has_what_most_claims_need(smoke: pl.DataFrame) -> None:
    answers = {claim.id: tables.judge(CLAIMS, claim.id, smoke) for claim in CLAIMS}
    lacking = {name for name, answer in answers.items() if answer["n"] == 0}
    assert lacking == {"PH2c", "PH5"}  # no gap of 1.2, no width of 64
    assert answers["PH10"]["estimate"] == 1


def test_figures_of_smoke_are_drawn(smoke: pl.DataFrame) -> None:
    found = draw(smoke, PhaseConfig())
    assert set(found) == {"figure", "starts", "sizes"}
    assert "of flows swing by" in words(found["figure"].figure)
    for drawing in found.values():
        assert len(render(drawing.figure)) > 5_000


def test_the_diagram_shows_each_share() -> None:
    grid = [
        some(k, more={"predicted": k, "height": 0.1}, gap=gap, scale=scale, power=power)
        for power in (1, 2)
        for gap, scale, k in ((1.1, 0.1, 10), (2.0, 0.1, 180), (1.1, 0.2, 26), (2.0, 0.2, 134))
    ]
    said = words(draw(table_of(*grid), PhaseConfig())["figure"].figure).splitlines()
    assert {"5", "90", "13", "67"} <= set(said)
    assert "200 or more positive starts" in " ".join(said)


def test_what_was_not_counted_is_said() -> None:
    for drawing in draw(EMPTY, PhaseConfig()).values():
        assert "not counted" in words(drawing.figure)
        render(drawing.figure)


def test_full_has_enough_flows() -> None:
    arms = arms_of(EXPERIMENT, "full").values()
    assert sum(len(config.cells()) * config.starts for config in arms) >= 20_000
    assert all(config.starts >= 200 for config in arms)
