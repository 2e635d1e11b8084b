"""The stages: W' against finite differences, rules on tables made by hand, the figure."""

import numpy as np
import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.lab.table import curves
from recombine.settings import override
from recombine.studies.identity_mapping.stages.claims import STAGES
from recombine.studies.identity_mapping.stages.experiment import EXPERIMENT, StagesConfig, motion
from recombine.theory.identity.flow import flow, positive_start
from support import tables
from support.identity_tables import Reading, arms_of, by_hand, computed
from support.pictures import legend, words

ARMS = arms_of(EXPERIMENT, "smoke")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return computed(ARMS)


def test_motion_is_the_difference_along_the_flow() -> None:
    """W(t + h) - W(t - h) over 2 h, of the flow that steps U by its own formula."""
    a, start, step = StagesConfig().moments(), positive_start(5, 3, 3, 0.5, 0), 1e-4
    _, weights = flow(start, a, step, 2)
    middle = weights[1]
    values, axes = torch.linalg.eigh(middle)
    found = motion(axes * values.clamp(min=0).sqrt()[:, None, :], a)
    torch.testing.assert_close(found, (weights[2] - weights[0]) / (2 * step), rtol=0, atol=1e-7)


def test_moments_are_those_of_the_script() -> None:
    """mu = (1, 1.5), sigma = 0.05, s = 2, and a third coordinate with sigma^2."""
    expected = torch.tensor([0.5025, 1.1275, 0.0025], dtype=torch.float64)
    torch.testing.assert_close(StagesConfig().moments(), expected)
    torch.testing.assert_close(StagesConfig(power=2).moments(), expected**2)
    assert StagesConfig().probe().tolist() == [1, 1.5, 0]


def test_rows_hold_what_claims_and_figure_read(table: pl.DataFrame) -> None:
    answers = {claim.id: tables.judge(STAGES, claim.id, table) for claim in STAGES}
    assert {name: answer["verdict"] for name, answer in answers.items()} == {
        "S4": "holds", "S4b": "fails", "S5a": "undecided", "S5b": "undecided",
    }  # fmt: skip
    assert (answers["S4"]["n"], answers["S5a"]["n"]) == (40, 20)
    assert answers["S4b"]["estimate"] == pytest.approx(2, abs=1e-9)
    assert answers["S5a"]["estimate"] > 0.9
    times, medians = curves(table, "all.median", "A", "w22")[0, "w22"]
    assert (times[0], times[-1]) == (0, 10_000)
    assert medians[0] < 0.1
    assert medians[-1] == pytest.approx(1, abs=1e-3)
    parts = [curves(table, "start 0", "A", name)[0, name][1] for name in ("growth", "suppression", "noise", "motion")]
    np.testing.assert_allclose(parts[0] - parts[1] - parts[2], parts[3], atol=1e-12)


def passing(first: float | None, fallen: float | None, second: float | None, starts: int) -> list[Reading]:
    names = {"first major": first, "minor suppressed": fallen, "second major": second}
    return [("A", f"start {i}", f"time.{name}", time) for i in range(starts) for name, time in names.items()]


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
    answer = tables.judge(STAGES, "S5a", by_hand(passing(*times, starts=200)))
    assert (answer["estimate"], answer["verdict"], answer["n"]) == (estimate, verdict, 200)


def test_an_error_above_the_bound_fails() -> None:
    readings: list[Reading] = [(arm, f"start {i}", "error", 1e-11) for arm in ("A", "A2") for i in range(10)]
    assert tables.judge(STAGES, "S4", by_hand(readings))["verdict"] == "holds"
    worse = [*readings[:-1], ("A2", "start 9", "error", 1e-9)]
    answer = tables.judge(STAGES, "S4", by_hand(worse))
    assert (answer["verdict"], answer["estimate"], answer["note"]) == ("fails", 0.95, "largest error 1.0e-09")


def test_a_factor_of_one_is_as_printed() -> None:
    readings: list[Reading] = [(arm, f"start {i}", "factor", 1.0) for arm in ("A", "A2") for i in range(10)]
    assert tables.judge(STAGES, "S4b", by_hand(readings))["verdict"] == "holds"


def test_nothing_measured_is_undecided() -> None:
    for claim in STAGES:
        assert tables.undecided(tables.judge(STAGES, claim.id, by_hand([])))


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


def test_the_figure_shows_every_entry_and_term(table: pl.DataFrame) -> None:
    figure = EXPERIMENT.draw(table, ARMS["A"])["figure"].figure
    assert len(figure.axes) == 6
    assert [len(axes.lines) for axes in figure.axes] == [6, 9, 7, 6, 9, 7]  # of all starts with three stages marked
    assert len(legend(figure.axes[0])) == 6
    assert "n = 20 starts" in words(figure)


def test_an_empty_table_draws_empty_panels() -> None:
    assert "not measured: w22" in words(EXPERIMENT.draw(by_hand([]), ARMS["A"])["figure"].figure)
