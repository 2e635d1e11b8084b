"""Every experiment of the house goes the whole way at `smoke`: trained, measured, judged, drawn, reported."""

import json

import pytest

from recombine.cli import main
from recombine.lab.execute import local as engines
from recombine.studies import EXPERIMENTS

pytestmark = pytest.mark.usefixtures("coarse_figures")

MADE_HERE = [address for address in EXPERIMENTS if address != "concept-graphs/faces"]  # faces need CelebA's files


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(autouse=True)
def one_core(monkeypatch):
    """One thread a test: tests run side by side, and two that take all cores each wait for one another."""
    monkeypatch.setattr(engines.os, "cpu_count", lambda: 1)


@pytest.mark.parametrize("address", MADE_HERE)
def test_an_experiment_goes_the_whole_way(address, store, capsys):
    words = ("run", address, "--budget", "smoke", "--seeds", "1", "--workers", "1", "--store", str(store), "--json")
    assert main(words) == 0
    claims = json.loads(capsys.readouterr().out)
    experiment = EXPERIMENTS[address]
    assert [claim["claim"] for claim in claims] == [claim.id for claim in experiment.claims]
    folder = store / "experiments" / address / "smoke"
    assert (folder / "report.html").stat().st_size > 10_000
    assert (folder / "figure.png").stat().st_size > 5_000
    assert all(claim["n"] or claim["note"] for claim in claims), "what could not be judged must say why"


def test_two_experiments_run_side_by_side_and_share_their_runs(store, capsys):
    words = (
        "run",
        "concept-graphs/emergence",
        "concept-graphs/toy",
        "--budget",
        "smoke",
        "--store",
        str(store),
        "--json",
    )
    assert main(words) == 0
    judged = {claim["experiment"] for claim in json.loads(capsys.readouterr().out)}
    assert judged == {"emergence", "toy"}


def test_a_study_stands_for_its_experiments_and_one_that_fails_does_not_stop_the_others(store, capsys, monkeypatch):
    monkeypatch.setenv("RECOMBINE_CELEBA", str(store / "nowhere"))
    words = ("run", "concept-graphs/faces", "concept-graphs/toy", "--budget", "smoke", "--store", str(store), "--json")
    assert main(words) == 1
    said = capsys.readouterr()
    assert {claim["experiment"] for claim in json.loads(said.out)} == {"toy"}
    assert [line.startswith("recombine: CelebA is not complete") for line in said.err.splitlines()].count(True) == 1
