"""The page of an experiment: what stands on it, in which order."""

import json
from pathlib import Path
from typing import Any

import pytest

from recombine.lab.experiment import Plan, make_plan
from recombine.lab.publish.evidence import publish
from recombine.lab.publish.pages import experiment_page
from recombine.lab.store import Store
from recombine.studies import EXPERIMENTS

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]


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
    assert all(f"]({path.name.replace(' ', '%20')})" in page for path in folder.glob("samples*.webp"))


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
