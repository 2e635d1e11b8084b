"""Committed evidence goes back into a store, and comes out of it as it was."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.files import write_json
from recombine.lab.experiment import Plan, make_plan
from recombine.lab.publish.evidence import publish
from recombine.lab.publish.imports import import_published
from recombine.lab.report.conclude import conclude
from recombine.lab.store import Store
from recombine.studies import EXPERIMENTS

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]


@pytest.fixture
def plan() -> Plan:
    return make_plan(EXPERIMENT, "smoke")


@pytest.fixture
def results(plan: Plan, smoke_store: Path, tmp_path: Path) -> Path:
    """Evidence as it is published now, whenever the store's own was made."""
    source = tmp_path / "source"
    shutil.copytree(smoke_store, source)
    conclude(plan, Store(source))
    publish(plan, Store(source), tmp_path / "results")
    return tmp_path / "results"


def test_imported_runs_are_judged_as_if_they_had_been_trained_here(plan: Plan, results: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "new")
    assert import_published(plan, results, store) == (len(plan.runs), 0)
    assert all(store.run(run.address).done for run in plan.runs)
    conclude(plan, store)
    made, given = store.experiment("concept-graphs", "emergence", "smoke"), results / "concept-graphs" / "emergence"
    assert pl.read_parquet(made / "table.parquet").equals(pl.read_parquet(given / "table.parquet"))
    assert (made / "claims.json").read_bytes() == (given / "claims.json").read_bytes()
    sources = [json.loads((folder / "provenance.json").read_text()) | {"judged": ""} for folder in (made, given)]
    captions = [source.pop("captions") for source in sources]
    assert captions[0].items() < captions[1].items()  # samples are not published, nor is their caption made here
    assert sources[0] == sources[1]


def test_runs_of_other_settings_are_left(results: Path, tmp_path: Path) -> None:
    changed = make_plan(EXPERIMENT, "smoke", overrides={"training.batch": 8})
    store = Store(tmp_path / "new")
    assert import_published(changed, results, store) == (0, len(changed.runs))
    assert list(store.runs()) == []


def test_a_run_that_is_done_here_stays_as_it_is(plan: Plan, results: Path, smoke_store: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(smoke_store, own)
    run = Store(own).run(plan.runs[0].address)
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file() and path.name != "lock"}
    import_published(plan, results, Store(own))
    assert {path: path.read_bytes() for path in before} == before


def test_a_run_begun_here_is_replaced_by_the_published_one(plan: Plan, results: Path, tmp_path: Path) -> None:
    store, other = Store(tmp_path / "new"), Store(tmp_path / "other")
    run = store.run(plan.runs[0].address)
    run.append([{"images_seen": 0, "node": "000", "distance": 0, "instrument": "half", "value": 1.0}])
    import_published(plan, results, store)
    import_published(plan, results, other)
    assert run.rows() == other.run(run.address).rows()


def test_evidence_that_is_missing_is_one_line(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing of concept-graphs/emergence is published"):
        import_published(plan, tmp_path / "none", Store(tmp_path / "new"))


def test_older_evidence_shares_its_cost_out_evenly(plan: Plan, results: Path, tmp_path: Path) -> None:
    path = results / "concept-graphs" / "emergence" / "provenance.json"
    source = json.loads(path.read_text())
    for member in source["members"]:
        for key in ("outcome", "machine", "started"):
            del member[key]
    write_json(path, source)
    store = Store(tmp_path / "new")
    import_published(plan, results, store)
    conclude(plan, store)
    made = json.loads((store.experiment("concept-graphs", "emergence", "smoke") / "provenance.json").read_text())
    for key in ("runs", "images_seen", "machines", "trained"):
        assert made[key] == source[key]
    for key in ("device_seconds", "sampling_seconds"):
        assert made[key] == pytest.approx(source[key], abs=0.2)


PUBLISHED = Path(__file__).parents[3] / "results"


@pytest.mark.parametrize("address", ["concept-graphs/toy", "bumps/torus"])
def test_what_this_project_has_published_can_be_added_to(address: str, tmp_path: Path) -> None:
    plan = make_plan(EXPERIMENTS[address], "full")
    count, others = import_published(plan, PUBLISHED, Store(tmp_path))
    assert (count, others) == (len(plan.runs), 0)
