"""Other ways to tell the label: what they share with compose, their codes, and verdicts on made-up tables."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
import torch

from recombine.lab.claims import judge_all
from recombine.lab.execute.conduct import conduct
from recombine.lab.store import Store
from recombine.lab.table import make_table
from recombine.runs.bumps import BumpsRun
from recombine.settings import override
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.crossing.encodings.claims import ANGLES, CODES, ENCODINGS, LONG, RAW, SCALAR, arm_of
from recombine.studies.bumps.crossing.encodings.experiment import EXPERIMENT, told
from recombine.studies.bumps.crossing.encodings.figures import code
from recombine.training.execution import Execution
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

Scores = Mapping[str, tuple[float, float, float]]  # region: x, y, both
RECALL = {SEEN: (1.0, 1.0, 1.0), VERTICAL: (2 / 7, 1.0, 2 / 7), HORIZONTAL: (1.0, 2 / 7, 2 / 7),
          INTERSECTION: (2 / 7, 2 / 7, 4 / 49)}  # fmt: skip
RIGHT = dict.fromkeys((SEEN, VERTICAL, HORIZONTAL, INTERSECTION), (0.97, 0.96, 0.95))
LOST = dict.fromkeys((SEEN, VERTICAL, HORIZONTAL, INTERSECTION), (0.3, 0.3, 0.1))
OTHERS = (LONG, SCALAR, ANGLES)


def table(scores: Mapping[str, Scores], seeds: int = 5) -> pl.DataFrame:
    rows = [
        ("bumps", "encodings", arm, seed, 1000, region, None, f"{how}.{what}", max(0.0, value - 0.001 * seed))
        for arm, regions in scores.items()
        for seed in range(1 if arm.startswith("memoriser") else seeds)
        for region, values in regions.items()
        for what, value in zip(("x", "y", "both"), values, strict=True)
        for how in ("darkest", "fine")
    ]
    return make_table(rows)


def scores(other: Scores, raw: Scores = RECALL) -> dict[str, Scores]:
    plain = {arm_of("2D", encoding): raw if encoding == RAW else other for encoding in ENCODINGS}
    control = {arm_of("2D+1D", encoding): RIGHT for encoding in ENCODINGS}
    return plain | control | {null_of("2D"): RECALL, null_of("2D+1D"): RECALL}


def verdicts(found: Mapping[str, Scores]) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CODES, table(found), "bumps", "encodings", "full")}


def test_the_paper_survives_where_every_encoding_recalls() -> None:
    found = verdicts(scores(RECALL))
    for encoding in OTHERS:
        assert found[f"EN1-{encoding}"] == found[f"EN5-{encoding}"] == "holds"
        assert [found[f"{name}-{encoding}"] for name in ("EN2", "EN3", "EN4", "EN4n")] == ["fails"] * 4


def test_it_does_not_where_another_encoding_interpolates() -> None:
    found = verdicts(scores(RIGHT))
    for encoding in OTHERS:
        assert found[f"EN1-{encoding}"] == "fails"
        assert [found[f"{name}-{encoding}"] for name in ("EN2", "EN3", "EN4", "EN4n", "EN5")] == ["holds"] * 5
    assert found[f"EN3-{RAW}"] == found[f"EN4n-{RAW}"] == "fails"


def test_an_encoding_that_learnt_nothing_says_nothing() -> None:
    found = verdicts(scores(LOST))
    for encoding in OTHERS:
        assert [found[f"{name}-{encoding}"] for name in ("EN1", "EN2", "EN3", "EN4", "EN4n")] == ["undecided"] * 5


def test_a_control_that_does_not_compose_fails() -> None:
    found = verdicts(scores(RIGHT) | {arm_of("2D+1D", LONG): RECALL})
    assert (found[f"EN5-{LONG}"], found[f"EN5-{SCALAR}"]) == ("fails", "holds")


def test_raw_runs_and_memorisers_are_those_of_compose() -> None:
    for budget in ("smoke", "laptop", "full"):
        ours, theirs = EXPERIMENT.budgets[budget].arms, compose.EXPERIMENT.budgets[budget].arms
        parts = {arm.split()[0] for arm in ours if not arm.startswith("memoriser")}
        for part in parts:
            assert ours[arm_of(part, RAW)].address == theirs[part].address
            assert ours[null_of(part)].address == theirs[null_of(part)].address
    full = EXPERIMENT.budgets["full"]
    assert full.seeds >= 5
    assert len({work.address for work in full.arms.values()}) == len(full.arms)
    assert len({run.training.images for run in full.arms.values() if isinstance(run, BumpsRun)}) == 1


def test_only_the_sinusoids_of_the_paper_tear_near_labels_apart() -> None:
    """Labels 3 px apart: three fifths of the way with raw sinusoids, a seventh of it in a straight line."""
    labels = torch.tensor([[22.0, 22.0], [25.0, 22.0], [44.0, 22.0]], dtype=torch.float64)
    near = {}
    for encoding in ENCODINGS:
        codes = code(told(compose.FULL, encoding), labels)
        near[encoding] = ((codes[1] - codes[0]).norm() / (codes[2] - codes[0]).norm()).item()
    assert near[RAW] > 0.6
    assert near[SCALAR] == pytest.approx(3 / 22, abs=1e-5)
    assert near[LONG] == pytest.approx(3 / 22, abs=0.02)
    assert near[ANGLES] < 0.25


def test_every_encoding_trains(tmp_path: Path) -> None:
    runs = [override(told(compose.SMOKE, encoding), {"training.images": 64}) for encoding in OTHERS]
    store = Store(tmp_path)
    conduct(runs, store, Execution.plain("cpu"), lambda news: None)
    assert all(store.run(run.address).done for run in runs)
    assert runs[0].network.condition.periods[0] > runs[0].world.extent


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    for found in (scores(RIGHT), {arm_of("2D", LONG): RIGHT}, {}):
        drawing = EXPERIMENT.draw(table(found), compose.FULL)["figure"]
        assert len(drawing.figure.axes) == 4
