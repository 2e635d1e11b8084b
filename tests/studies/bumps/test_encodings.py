"""Other codes of the label: what they share with compose, their distances, and verdicts on made-up tables."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
import torch

from recombine.lab.claims import judge_all
from recombine.lab.execute.jobs import train_runs
from recombine.lab.store import Store
from recombine.runs.bump_codes import ANGLES, LONG, RAW, SCALAR, SHORT, code_of, encoded, with_code
from recombine.runs.bumps import BumpsRun
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED, baseline_of
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.encodings.claims import CLAIMS, CODES
from recombine.training.execution import Execution
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL
from support.stripes import COMPOSED, NEAR, Scores, stripes_table

EXPERIMENT = EXPERIMENTS["bumps/encodings"]
LOST = dict.fromkeys((SEEN, VERTICAL, HORIZONTAL, INTERSECTION), (0.3, 0.3, 0.1))
OTHERS = (LONG, SCALAR, ANGLES)


def table(plain: Mapping[str, Scores], control: Mapping[str, Scores]) -> pl.DataFrame:
    """Scores of each code, trained on 2D and on 2D+1D, beside the nearest-label baseline."""
    trained = [
        ({"data": data, "code": code, "model": TRAINED}, scores)
        for data, found in (("2D", plain), ("2D+1D", control))
        for code, scores in found.items()
    ]
    null = [({"data": data, "model": NEAREST}, NEAR) for data in ("2D", "2D+1D")]
    return stripes_table(*trained, *null, columns=EXPERIMENT.columns, rise=-0.001)


def verdicts(other: Scores, raw: Scores = NEAR, control: Mapping[str, Scores] | None = None) -> dict[str, str]:
    plain = {code: raw if code == RAW else other for code in CODES}
    found = table(plain, dict.fromkeys(CODES, COMPOSED) | dict(control or {}))
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "encodings", "full")}


def test_the_paper_survives_where_every_code_answers_with_the_nearest_label() -> None:
    found = verdicts(NEAR)
    for code in OTHERS:
        assert found[f"EN1-{code}"] == found[f"EN5-{code}"] == "holds"
        assert [found[f"{name}-{code}"] for name in ("EN2", "EN3", "EN4", "EN4n")] == ["fails"] * 4


def test_it_does_not_where_another_code_interpolates() -> None:
    found = verdicts(COMPOSED)
    for code in OTHERS:
        assert found[f"EN1-{code}"] == "fails"
        assert [found[f"{name}-{code}"] for name in ("EN2", "EN3", "EN4", "EN4n", "EN5")] == ["holds"] * 5
    assert found[f"EN3-{RAW}"] == found[f"EN4n-{RAW}"] == "fails"


def test_a_code_that_taught_nothing_says_nothing() -> None:
    found = verdicts(LOST)
    for code in OTHERS:
        assert [found[f"{name}-{code}"] for name in ("EN1", "EN2", "EN3", "EN4", "EN4n")] == ["undecided"] * 5


def test_a_control_that_does_not_compose_fails() -> None:
    found = verdicts(COMPOSED, control={LONG: NEAR})
    assert (found[f"EN5-{LONG}"], found[f"EN5-{SCALAR}"]) == ("fails", "holds")


def test_raw_runs_and_baselines_are_those_of_compose() -> None:
    for budget in ("smoke", "laptop", "full"):
        ours, theirs = EXPERIMENT.budgets[budget].arms, compose.EXPERIMENT.budgets[budget].arms
        for data in {arm.split()[0] for arm in ours if not arm.startswith(NEAREST)}:
            assert ours[f"{data} {RAW}"].address == theirs[data].address
            assert ours[baseline_of(data)].address == theirs[baseline_of(data)].address
    full = EXPERIMENT.budgets["full"]
    assert full.seeds >= 5
    assert len({work.address for work in full.arms.values()}) == len(full.arms)
    assert len({run.training.images for run in full.arms.values() if isinstance(run, BumpsRun)}) == 1


def test_only_in_the_sinusoids_of_the_paper_near_labels_are_far_from_each_other() -> None:
    """Labels 3 px apart: three fifths of the way with raw sinusoids, a seventh of it in a straight line."""
    labels = torch.tensor([[22.0, 22.0], [25.0, 22.0], [44.0, 22.0]], dtype=torch.float64)
    near = {}
    for code in CODES:
        codes = encoded(with_code(compose.FULL, code), labels)
        near[code] = ((codes[1] - codes[0]).norm() / (codes[2] - codes[0]).norm()).item()
    assert near[RAW] > 0.6
    assert near[SCALAR] == pytest.approx(3 / 22, abs=1e-5)
    assert near[LONG] == pytest.approx(3 / 22, abs=0.02)
    assert near[ANGLES] < 0.25


def test_every_code_trains_and_is_recognised(tmp_path: Path) -> None:
    runs = [override(with_code(compose.SMOKE, code), {"training.images": 64}) for code in OTHERS]
    store = Store(tmp_path)
    train_runs(runs, store, Execution.plain("cpu"), lambda news: None)
    assert all(store.run(run.address).done for run in runs)
    assert runs[0].network.condition.periods[0] > runs[0].world.extent
    assert [code_of(with_code(compose.FULL, code)) for code in (*CODES, SHORT)] == [*CODES, SHORT]


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    assert EXPERIMENT.draw is not None
    for plain in (dict.fromkeys(CODES, COMPOSED), {LONG: COMPOSED}, {}):
        drawing = EXPERIMENT.draw(table(plain, plain), compose.FULL)["figure"]
        assert len(drawing.figure.axes) == 4
