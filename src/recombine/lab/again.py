"""An experiment run again with the same seeds, kept beside its evidence in `results/STUDY/EXPERIMENT/again/`.

On a GPU the same seeds need not give the same bits. A verdict that comes out otherwise lies within what a sitting alone
can change, so the page of results says it.
"""

from pathlib import Path
from typing import Any

from recombine.errors import UserError
from recombine.files import read_json, write_json, write_whole
from recombine.lab.claims import judge_all, read_claims
from recombine.lab.compare import Pair, pair_claims, summary
from recombine.lab.experiment import Experiment
from recombine.lab.report import interval_text, number_text
from recombine.lab.store import Store
from recombine.lab.table import read_table

AGAIN = "again"  # a folder beside the evidence


def publish_again(experiment: Experiment, store: Store, results: Path) -> Path:
    """Keep the table and verdicts of a whole second run at full, same settings and seeds, beside the evidence."""
    source = store.experiment(experiment.study, experiment.name, "full")
    evidence = results / experiment.study / experiment.name
    own = read_json(source / "provenance.json", "make it again with `recombine report`")
    committed = read_json(evidence / "provenance.json", "publish evidence first: `recombine report --publish`")
    if own["missing"]:
        raise UserError(f"{own['missing']} runs of {experiment.address} are missing in {store.root}: finish it first")
    runs, known = _finished(own), _finished(committed)
    if runs.keys() != known.keys():
        raise UserError(f"{experiment.address} in {store.root} is not of the same settings and seeds as the evidence")
    if any(finished == known[address] for address, finished in runs.items()):
        raise UserError(f"{experiment.address} in {store.root} has runs of the evidence itself: run it in a new store")
    for name in ("table.parquet", "claims.json"):
        write_whole(evidence / AGAIN / name, (source / name).read_bytes())
    left_out = ("configs", "seen")  # which are those of the evidence
    write_json(evidence / AGAIN / "provenance.json", {key: own[key] for key in own if key not in left_out})
    return evidence / AGAIN


def renew_again(experiment: Experiment, evidence: Path) -> None:
    """Judge what was run again once more, from its own table."""
    folder = evidence / AGAIN
    if folder.exists():
        table = read_table(folder / "table.parquet")
        claims = judge_all(experiment.claims, table, experiment.study, experiment.name, "full")
        write_json(folder / "claims.json", claims)


def read_again(evidence: Path) -> list[Pair]:
    """Each claim of the evidence beside its second verdict; empty if it was not run again."""
    folder = evidence / AGAIN
    if not folder.exists():
        return []
    return pair_claims(read_claims(folder / "claims.json"), read_claims(evidence / "claims.json"))


def again_facts(evidence: Path) -> str:
    """When and where it was run again, and how many verdicts stayed."""
    source = read_json(evidence / AGAIN / "provenance.json", "make it again with `recombine compare --publish`")
    where = source["machines"][0]["device"]
    return f"run again {', '.join(source['trained'])} on {where}: {summary(read_again(evidence))}"


def other_verdict(pair: Pair) -> str:
    """What came out the second time, if that was another verdict."""
    if pair.same:
        return ""
    again = pair.again
    return f"; again {again['verdict']}: {number_text(again['estimate'])} ({interval_text(again['interval'])})"


def _finished(provenance: dict[str, Any]) -> dict[str, str | None]:
    """{address: when that run was finished}; early evidence does not say when."""
    return {member["address"]: member.get("outcome", {}).get("finished") for member in provenance["members"]}
