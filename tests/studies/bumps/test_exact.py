"""Exact machines: each is built as it says, and the rules tell recall from composition."""

import polars as pl
import pytest

from recombine.denoisers.exact import EmpiricalDenoiser
from recombine.denoisers.local_score import AddedScores, LocalScoreMachine
from recombine.lab.claims import judge_all
from recombine.lab.table import COLUMNS
from recombine.settings import override
from recombine.studies.bumps.crossing.exact.claims import EXACT, arm_of
from recombine.studies.bumps.crossing.exact.experiment import EXPERIMENT, SETS, SMOKE, STEPS
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL


def table(scores: dict[str, dict[tuple[str, str], float]]) -> pl.DataFrame:
    rows = [
        ("bumps", "exact", arm, seed, 0, region, None, instrument, value + 1e-4 * seed)
        for arm, found in scores.items()
        for (region, instrument), value in found.items()
        for seed in range(5)
    ]
    return pl.DataFrame(rows, schema=list(COLUMNS), orient="row", infer_schema_length=None)


def verdicts(scores: dict[str, dict[tuple[str, str], float]]) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(EXACT, table(scores), "bumps", "exact", "full")}


def test_machines_that_recall_and_one_that_places() -> None:
    recall = {(VERTICAL, "darkest.x"): 1 / 3, (HORIZONTAL, "darkest.y"): 1 / 3, (INTERSECTION, "darkest.both"): 1 / 9,
              (INTERSECTION, "fine.both"): 1 / 9, (INTERSECTION, "dark.asked"): 0.4}  # fmt: skip
    places = {(INTERSECTION, "fine.both"): 0.95, (INTERSECTION, "dark.asked"): 0.5}
    scores = {arm_of(machine, name): recall for machine in STEPS for name in SETS}
    found = verdicts(scores | {arm_of("local-either", "2D+1D"): places})
    assert set(found.values()) == {"holds"}


def test_machines_that_compose_refute_every_rule_of_recall() -> None:
    composed = {(VERTICAL, "darkest.x"): 0.9, (HORIZONTAL, "darkest.y"): 0.9, (INTERSECTION, "darkest.both"): 0.9,
                (INTERSECTION, "fine.both"): 0.9, (INTERSECTION, "dark.asked"): 0.95}  # fmt: skip
    found = verdicts({arm_of(machine, name): composed for machine in STEPS for name in SETS})
    assert [found[name] for name in ("E1", "E2", "E3", "E4", "E5", "E6")] == ["fails"] * 4 + ["holds", "fails"]


@pytest.mark.parametrize(
    ("machine", "kind"),
    [("memoriser", EmpiricalDenoiser), ("wide", EmpiricalDenoiser), ("added", AddedScores),
     ("local", LocalScoreMachine), ("local-either", LocalScoreMachine)],
)  # fmt: skip
def test_each_machine_is_what_it_says_and_answers(machine: str, kind: type) -> None:
    config = override(SMOKE, {"machine": machine})
    assert isinstance(config.denoiser(), kind)
    found = {(row["node"], row["instrument"]): row["value"] for row in config.rows()}
    assert 0 <= found[SEEN, "darkest.both"] <= 1
    assert 0 <= found[INTERSECTION, "dark.asked"] <= 1


def test_the_memoriser_knows_what_it_saw() -> None:
    found = {(row["node"], row["instrument"]): row["value"] for row in override(SMOKE, {"split.step": 0.5}).rows()}
    assert found[SEEN, "darkest.both"] == 1
    assert found[SEEN, "dark.asked"] == pytest.approx(1, abs=0.02)


def test_every_machine_has_every_training_set() -> None:
    for budget in EXPERIMENT.budgets.values():
        assert set(budget.arms) == {arm_of(machine, name) for machine in STEPS for name in SETS}


def test_the_figure_is_drawn_from_any_part() -> None:
    one = {arm_of("memoriser", "2D"): {(SEEN, "darkest.both"): 1.0}}
    assert len(EXPERIMENT.draw(table(one), SMOKE)["figure"].figure.axes) == 9
