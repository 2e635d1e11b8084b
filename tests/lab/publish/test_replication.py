"""A replication kept beside the evidence: what is taken, what is refused, what the page says of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import Call
from recombine.errors import RunFailed, UserError
from recombine.lab.experiment import Plan, make_plan
from recombine.lab.publish.evidence import publish, renew
from recombine.lab.publish.pages import experiment_page
from recombine.lab.publish.replication import publish_replications, read_replication
from recombine.lab.store import Store
from recombine.studies import EXPERIMENTS

EXPERIMENT, SIGNAL = EXPERIMENTS["concept-graphs/emergence"], EXPERIMENTS["concept-graphs/signal"]

NAME = EXPERIMENT.address


@pytest.fixture
def plan() -> Plan:
    return make_plan(EXPERIMENT, "smoke")


@pytest.fixture
def results(plan: Plan, smoke_store: Path, tmp_path: Path) -> Path:
    """Evidence of one run."""
    publish(plan, Store(smoke_store), tmp_path / "results")
    claims = json.loads((tmp_path / "results" / NAME / "claims.json").read_text())
    changed = [claim | {"budget": "full", "estimate": 0.5, "interval": [0.25, 0.75], "n": 5} for claim in claims]
    (tmp_path / "results" / NAME / "claims.json").write_text(json.dumps(changed))
    return tmp_path / "results"


@pytest.fixture
def second(results: Path, tmp_path: Path) -> Path:
    """A store with a second run of the same plan, one of its verdicts another."""
    folder = tmp_path / "store/experiments" / NAME / "full"
    shutil.copytree(results / NAME, folder)
    claims = json.loads((folder / "claims.json").read_text())
    claims[1] |= {"verdict": "fails", "estimate": 0.125}
    (folder / "claims.json").write_text(json.dumps(claims))
    change(folder, missing=0, trained=["2026-11-18"], finished="2026-11-18T00:00:00Z")
    return tmp_path / "store"


def change(folder: Path, finished: str | None = None, **facts: Any) -> None:
    """Give a provenance other facts; its members another time, or none."""
    source = json.loads((folder / "provenance.json").read_text()) | facts
    for member in source["members"]:
        if finished is None:
            del member["outcome"]
        else:
            member["outcome"]["finished"] = finished
    (folder / "provenance.json").write_text(json.dumps(source))


def keep(second: Path, results: Path) -> Path:
    publish_replications([EXPERIMENT], Store(second), results)
    return results / NAME / "replication"


def test_a_replication_is_kept_and_stands_on_the_page(results: Path, second: Path) -> None:
    assert "replicated" not in experiment_page(EXPERIMENT, results / NAME)
    assert read_replication(results / NAME) == []
    kept = keep(second, results)
    source = second / "experiments" / NAME / "full"
    for name in ("claims.json", "table.parquet"):
        assert (kept / name).read_bytes() == (source / name).read_bytes()
    facts = json.loads((kept / "provenance.json").read_text())
    assert facts["trained"] == ["2026-11-18"]
    assert "configs" not in facts
    pairs = read_replication(results / NAME)
    assert [pair.same for pair in pairs].count(False) == 1
    page = experiment_page(EXPERIMENT, results / NAME)
    device = facts["machines"][0]["device"]
    assert f"replicated 2026-11-18 on {device}: {len(pairs) - 1} of {len(pairs)} verdicts are the same" in page
    assert page.count("; replication: ") == 1
    (row,) = (line for line in page.splitlines() if "; replication: " in line)
    assert row.startswith(f"| {pairs[1].committed['claim']} |")
    assert row.endswith("| **undecided**; replication: fails, 0.125 (0.25 to 0.75) |")


def test_a_replication_is_whole_of_the_same_plan_and_not_the_evidence(results: Path, second: Path) -> None:
    folder = second / "experiments" / NAME / "full"
    facts = json.loads((folder / "provenance.json").read_text())
    for wrong, complaint in (
        (facts | {"missing": 2}, "2 runs of concept-graphs/emergence are missing"),
        (facts | {"members": [facts["members"][0] | {"address": "0"}]}, "not of the same settings and seeds"),
        (json.loads((results / NAME / "provenance.json").read_text()), "has runs of the evidence itself"),
    ):
        (folder / "provenance.json").write_text(json.dumps(wrong))
        with pytest.raises(UserError, match=complaint):
            keep(second, results)
    assert not (results / NAME / "replication").exists()
    with pytest.raises(RunFailed, match="publish evidence first"):
        keep(second, results / "other")


def test_evidence_that_does_not_say_when_it_was_made_can_be_replicated_too(results: Path, second: Path) -> None:
    change(results / NAME)
    assert keep(second, results).exists()


def test_all_are_kept_or_none(results: Path, second: Path) -> None:
    with pytest.raises(RunFailed, match=r"provenance\.json is missing"):
        publish_replications([EXPERIMENT, SIGNAL], Store(second), results)
    assert not (results / NAME / "replication").exists()


def test_new_rules_judge_both_runs(results: Path, second: Path) -> None:
    kept = keep(second, results)
    (kept / "claims.json").write_text("[]")
    renewed = [claim | {"budget": "full"} for claim in renew(EXPERIMENT, results)]  # both have one table
    assert json.loads((kept / "claims.json").read_text()) == renewed


def test_new_evidence_leaves_no_older_replication(plan: Plan, smoke_store: Path, results: Path, second: Path) -> None:
    kept = keep(second, results)
    publish(plan, Store(smoke_store), results)
    assert not kept.exists()


def test_the_command_keeps_it(call: Call, results: Path, second: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(results.parent)
    assert call("compare", "--store", second).status == 0
    assert not (results / NAME / "replication").exists()
    answer = call("compare", "--store", second, "--publish")
    assert f"{NAME}: " in answer.out
    assert (results / NAME / "replication/claims.json").exists()
    assert (results / NAME / "README.md").read_text() == experiment_page(EXPERIMENT, results / NAME)
    change(second / "experiments" / NAME / "full", missing=1, finished="2026-11-18T00:00:00Z")
    answer = call("compare", "--store", second, "--publish", "--json")
    assert answer.status == 2
    assert "finish it first" in answer.err
