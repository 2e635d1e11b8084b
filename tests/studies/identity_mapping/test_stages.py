"""The stages: W' against finite differences, rules on tables made by hand, the figure."""

import numpy as np
import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.lab.table import curves
from recombine.runs.identity.stages import StagesConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.stages.claims import CLAIMS, STAGES
from support import tables
from support.identity_tables import arms_of, by_hand, computed
from support.pictures import legend, words

EXPERIMENT = EXPERIMENTS["identity-mapping/stages"]
ARMS = arms_of(EXPERIMENT, "smoke")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return computed(EXPERIMENT, ARMS)


def test_moments_are_those_of_the_script() -> None:
    """mu = (1, 1.5), sigma = 0.05, s = 2, and a third coordinate with sigma^2."""
    expected = torch.tensor([0.5025, 1.1275, 0.0025], dtype=torch.float64)
    torch.testing.assert_close(StagesConfig().moments(), expected)
    torch.testing.assert_close(StagesConfig(power=2).moments(), expected**2)
    assert StagesConfig().probe().tolist() == [1, 1.5, 0]


def test_rows_hold_what_claims_and_figure_read(table: pl.DataFrame) -> None:
    answers = {claim.id: tables.judge(CLAIMS, claim.id, table) for claim in CLAIMS}
    assert {name: answer["verdict"] for name, answer in answers.items()} == {
        "S4": "holds", "S4b": "fails", "S5a": "undecided", "S5b": "undecided",
    }  # fmt: skip
    assert (answers["S4"]["n"], answers["S5a"]["n"]) == (40, 20)
    assert answers["S4b"]["estimate"] == pytest.approx(2, abs=1e-9)
    assert answers["S5a"]["estimate"] > 0.9
    times, medians = curves(table, "weight", over="time", arm="A", i=2, j=2, quantile=0.5)[0,]
    assert (times[0], times[-1]) == (0, 10)
    assert medians[0] < 0.1
    assert medians[-1] == pytest.approx(1, abs=1e-3)
    names = ("growth", "suppression", "noise", "motion")
    parts = [curves(table, name, over="time", arm="A", start=0)[0,][1] for name in names]
    np.testing.assert_allclose(parts[0] - parts[1] - parts[2], parts[3], atol=1e-12)


@pytest.mark.parametrize(
    ("times", "estimate", "verdict"),
    [
        ((1.0, 2.0, 3.0), 1.0, "holds"),
        ((2.0, 1.0, 3.0), 0.0, "fails"),
        ((1.0, 3.0, 2.0), 0.0, "fails"),
        ((1.0, 2.0, None), 0.0, "fails"),
        ((1.0, None, 3.0), 0.0, "fails"),
    ],
)
def test_the_order_of_stages(times: tuple[float | None, ...], estimate: float, verdict: str) -> None:
    rows = [{"arm": "A", "start": start, "instrument": "stage", "stage": stage, "value": time}
            for start in range(200) for stage, time in zip(STAGES, times, strict=True)]  # fmt: skip
    answer = tables.judge(CLAIMS, "S5a", by_hand(EXPERIMENT, rows))
    assert (answer["estimate"], answer["verdict"], answer["n"]) == (estimate, verdict, 200)


def test_an_error_above_the_bound_fails() -> None:
    rows = tables.rows_of(1e-11, arm=["A", "A2"], start=range(10), instrument="error")
    assert tables.judge(CLAIMS, "S4", by_hand(EXPERIMENT, rows))["verdict"] == "holds"
    rows[-1]["value"] = 1e-9
    answer = tables.judge(CLAIMS, "S4", by_hand(EXPERIMENT, rows))
    assert (answer["verdict"], answer["estimate"], answer["note"]) == ("fails", 0.95, "largest error 1.0e-09")


def test_a_factor_of_one_is_as_printed() -> None:
    rows = tables.rows_of(1.0, arm=["A", "A2"], start=range(10), instrument="factor")
    assert tables.judge(CLAIMS, "S4b", by_hand(EXPERIMENT, rows))["verdict"] == "holds"


def test_nothing_measured_is_undecided() -> None:
    for claim in CLAIMS:
        assert tables.undecided(tables.judge(CLAIMS, claim.id, by_hand(EXPERIMENT, [])))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"signals": [1.0]}, "signals"),
        ({"signals": [1.0, 2.0, 3.0]}, "3 signals but 2 spreads"),
        ({"starts": 0}, "starts"),
        ({"power": 3}, "power"),
        ({"idle": 0}, "idle"),
    ],
)
def test_bad_settings_are_one_line(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(StagesConfig(), changes)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_equal_concepts_have_no_order() -> None:
    with pytest.raises(UserError, match="one of them stronger"):
        StagesConfig(signals=(2.0, 2.0)).check()


def test_the_figures_show_every_entry_and_term(table: pl.DataFrame) -> None:
    drawn = EXPERIMENT.draw(table, ARMS["A"])
    figure, single = drawn["figure"].figure, drawn["one-start"].figure
    assert [len(axes.lines) for axes in figure.axes] == [9, 7, 9, 7]  # three stages are marked
    assert [len(axes.lines) for axes in single.axes] == [6, 6]
    assert len(legend(figure.axes[0])) == 6
    assert "n = 20 starts" in words(figure)


def test_an_empty_table_draws_empty_panels() -> None:
    drawn = EXPERIMENT.draw(by_hand(EXPERIMENT, []), ARMS["A"])
    assert "not measured: entry of W in arm A" in words(drawn["figure"].figure)
