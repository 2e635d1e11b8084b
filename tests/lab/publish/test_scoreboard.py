"""The scoreboard: outcomes follow from verdicts, so that text and table cannot part."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from recombine.errors import RunFailed
from recombine.lab.experiment import Plan, make_plan
from recombine.lab.publish.evidence import publish
from recombine.lab.publish.scoreboard import (
    NOT_HERE,
    outcome_of,
    scoreboard,
    scoreboard_page,
    with_totals,
    write_scoreboard,
)
from recombine.lab.store import Store
from recombine.studies import EXPERIMENTS, study_folders

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]
RESULTS = Path(__file__).parents[3] / "results"


@cache
def committed() -> list[dict[str, Any]]:
    """The rows of the committed scoreboard."""
    return scoreboard(RESULTS, EXPERIMENTS, study_folders())


@pytest.fixture
def plan() -> Plan:
    return make_plan(EXPERIMENT, "smoke")


@pytest.fixture
def folder(plan: Plan, smoke_store: Path, tmp_path: Path) -> Path:
    return publish(plan, Store(smoke_store), tmp_path / "results")


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        (["holds", "holds"], "reproduces"), (["holds", "fails"], "partly"), (["holds", "undecided"], "partly"),
        (["fails"], "no"), (["fails", "undecided"], "no"), (["undecided"], "undecided"), ([], "not measured"),
    ],
)  # fmt: skip
def test_an_outcome_follows_from_verdicts_alone(verdicts: list[str], outcome: str) -> None:
    assert outcome_of({"verdict": verdict, "estimate": 0.5} for verdict in verdicts) == outcome


def test_what_has_no_estimate_was_not_measured() -> None:
    assert outcome_of([{"verdict": "undecided", "estimate": None}]) == "not measured"


@pytest.fixture
def own_study(folder: Path, tmp_path: Path) -> Path:
    """A folder of studies with nothing but a scoreboard."""
    root = tmp_path / "studies"
    (root / "mine").mkdir(parents=True)
    return root / "mine" / "scoreboard.yaml"


ROW = """
- paper: Somebody 2026
  figure: Fig 1
  says: Classes emerge in order.
  experiment: concept-graphs/emergence
  claims: [O1]
  found: On {{ O1.n }} seed.
- paper: Somebody 2026
  figure: Fig 2
  says: Something else.
  found: Nothing is built for it.
"""


def test_the_scoreboard_says_what_the_verdicts_say(folder: Path, own_study: Path, tmp_path: Path) -> None:
    own_study.write_text(ROW)
    results = tmp_path / "results"
    claims = json.loads((folder / "claims.json").read_text())
    claims[0] |= {"claim": "O1", "verdict": "holds", "n": 1}
    source = json.loads((folder / "provenance.json").read_text())
    assert {row["found"] for row in scoreboard(results, EXPERIMENTS, [own_study.parents[1]])[:1]} == {NOT_HERE}
    (folder / "provenance.json").write_text(json.dumps(source | {"budget": "full"}))
    (folder / "claims.json").write_text(json.dumps(claims))
    folders = [own_study.parents[1]]
    rows = scoreboard(results, EXPERIMENTS, folders)
    assert [row["outcome"] for row in rows] == ["reproduces", "not measured"]
    assert rows[0]["found"] == "On 1 seed."
    write_scoreboard(results, EXPERIMENTS, folders)
    page = (results / "README.md").read_text()
    assert page == scoreboard_page(results, rows)
    assert "| Fig 1 | Classes emerge in order. | **reproduces** | On 1 seed. [concept-graphs/emergence]" in page
    assert "| Somebody 2026 | 1 | 0 | 0 | 0 | 1 |" in page


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (ROW.replace("[O1]", "[O99]"), "no experiment has a claim 'O99'"),
        (ROW.replace("says:", "sez:"), "no field 'sez'"),
    ],
)
def test_a_wrong_row_is_one_line(own_study: Path, tmp_path: Path, wrong: str, complaint: str) -> None:
    own_study.write_text(wrong)
    with pytest.raises(RunFailed, match=complaint):
        scoreboard(tmp_path / "results", EXPERIMENTS, [own_study.parents[1]])


def test_the_committed_scoreboard_is_the_one_that_the_evidence_gives() -> None:
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == scoreboard_page(RESULTS, committed())


def test_the_totals_in_the_readme_are_those_of_the_scoreboard() -> None:
    text = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    assert text == with_totals(text, committed())
    assert "| reproduces |" in text
