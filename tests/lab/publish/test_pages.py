"""Pages of the evidence: what stands on them, and that text and table cannot part."""

import json
from pathlib import Path
from typing import Any

import pytest

from recombine import studies
from recombine.errors import RunFailed
from recombine.lab.experiment import Plan, make_plan
from recombine.lab.publish.evidence import publish
from recombine.lab.publish.pages import (
    experiment_page,
    outcome_of,
    scoreboard,
    scoreboard_page,
    with_totals,
    write_scoreboard,
)
from recombine.lab.store import Store
from recombine.studies import EXPERIMENTS

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]
RESULTS = Path(__file__).parents[3] / "results"


@pytest.fixture
def plan() -> Plan:
    return make_plan(EXPERIMENT, "smoke")


@pytest.fixture
def folder(plan: Plan, smoke_store: Path, tmp_path: Path) -> Path:
    return publish(plan, Store(smoke_store), tmp_path / "results")


def change(path: Path, **facts: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def test_a_page_has_the_figure_first_then_verdicts_assumptions_and_the_command(folder: Path) -> None:
    page = (folder / "README.md").read_text()
    assert page == experiment_page(EXPERIMENT, folder)
    order = ["# concept-graphs/emergence", EXPERIMENT.question, "](figure.png)", "## Verdicts",
             "### The paper's claims",
             "## Assumptions about the paper", "## How to run it",
             "recombine run concept-graphs/emergence --budget smoke --seeds 1", "## Samples"]  # fmt: skip
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    claims = json.loads((folder / "claims.json").read_text())
    for claim in claims:
        assert f"| {claim['claim']} | {claim['says']} | {claim['paper']} |" in page
    assert all(assumption in page for assumption in EXPERIMENT.assumptions)
    assert all(f"]({path.name.replace(' ', '%20')})" in page for path in folder.glob("*.png"))


def test_a_page_says_what_is_missing(folder: Path) -> None:
    facts = json.loads((folder / "provenance.json").read_text())
    assert "not complete" not in experiment_page(EXPERIMENT, folder)
    change(folder / "provenance.json", missing=3)
    assert f"not complete: 3 of {facts['runs'] + 3} runs are missing" in experiment_page(EXPERIMENT, folder)


def test_own_checks_stand_apart(folder: Path) -> None:
    claims = json.loads((folder / "claims.json").read_text())
    claims[0]["check"], claims[1]["check"] = True, False
    (folder / "claims.json").write_text(json.dumps(claims[:2]))
    papers, _, checks = experiment_page(EXPERIMENT, folder).partition("### Our own checks")
    assert f"| {claims[1]['claim']} |" in papers
    assert f"| {claims[0]['claim']} |" in checks


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        (["holds", "holds"], "reproduces"), (["holds", "fails"], "partly"), (["holds", "undecided"], "partly"),
        (["fails"], "no"), (["fails", "undecided"], "no"), (["undecided"], "not measured"), ([], "not measured"),
    ],
)  # fmt: skip
def test_an_outcome_follows_from_verdicts_alone(verdicts: list[str], outcome: str) -> None:
    assert outcome_of(verdicts) == outcome


@pytest.fixture
def own_study(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of studies with nothing but a scoreboard."""
    root = tmp_path / "studies"
    (root / "mine").mkdir(parents=True)
    monkeypatch.setattr(studies, "study_folders", lambda: [root])
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
    (folder / "claims.json").write_text(json.dumps(claims))
    rows = scoreboard(results)
    assert [row["outcome"] for row in rows] == ["reproduces", "not measured"]
    assert rows[0]["found"] == "On 1 seed."
    write_scoreboard(results)
    page = (results / "README.md").read_text()
    assert page == scoreboard_page(results)
    assert "| Fig 1 | Classes emerge in order. | **reproduces** | On 1 seed. [concept-graphs/emergence]" in page
    assert "| Somebody 2026 | 1 | 0 | 0 | 1 |" in page


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [(ROW.replace("[O1]", "[O99]"), "no claim 'O99' was judged"), (ROW.replace("says:", "sez:"), "no field 'sez'")],
)
def test_a_wrong_row_is_one_line(own_study: Path, tmp_path: Path, wrong: str, complaint: str) -> None:
    own_study.write_text(wrong)
    with pytest.raises(RunFailed, match=complaint):
        scoreboard(tmp_path / "results")


def test_the_committed_scoreboard_is_the_one_that_the_evidence_gives() -> None:
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == scoreboard_page(RESULTS)


def test_the_totals_in_the_readme_are_those_of_the_scoreboard() -> None:
    text = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    assert text == with_totals(text, scoreboard(RESULTS))
    assert "| reproduces |" in text
