"""An experiment run again with the same seeds, kept beside its evidence in `results/STUDY/EXPERIMENT/again/`.

On a GPU the same seeds need not give the same bits. A verdict that comes out otherwise lies within what a sitting alone
can change, so the page of results says it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from recombine.errors import UserError
from recombine.files import read_json, write_json, write_whole
from recombine.lab.claims import judge_all, read_claims
from recombine.lab.experiment import Experiment
from recombine.lab.publish.compare import Pair, pair_claims, summary, verdict_text
from recombine.lab.store import Store
from recombine.lab.table import read_table

AGAIN = "again"  # a folder beside the evidence


def publish_again(experiments: Iterable[Experiment], store: Store, results: Path) -> None:
    """Keep the tables and verdicts of second runs at full beside their evidence, all of them or none."""
    found = [(store.experiment(e.study, e.name, "full"), results / e.study / e.name, e.address) for e in experiments]
    checked = [(source, evidence, _second_run(source, evidence, address)) for source, evidence, address in found]
    for source, evidence, own in checked:
        for name in ("table.parquet", "claims.json"):
            write_whole(evidence / AGAIN / name, (source / name).read_bytes())
        kept = {key: own[key] for key in own if key not in ("configs", "seen")}  # which are those of the evidence
        write_json(evidence / AGAIN / "provenance.json", kept)


def _second_run(source: Path, evidence: Path, address: str) -> dict[str, Any]:
    """Its provenance: it is whole, of the settings and seeds of the evidence, and not the evidence itself."""
    own = read_json(source / "provenance.json", "make it again with `recombine report`")
    committed = read_json(evidence / "provenance.json", "publish evidence first: `recombine report --publish`")
    if own["missing"]:
        raise UserError(f"{own['missing']} runs of {address} are missing in this store: finish it first")
    runs, known = _finished(own), _finished(committed)
    if runs.keys() != known.keys():
        raise UserError(f"{address} in this store is not of the same settings and seeds as the evidence")
    if any(finished == known[run] for run, finished in runs.items()):
        raise UserError(f"{address} in this store has runs of the evidence itself: run it in a new store")
    return own


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


def again_facts(evidence: Path, pairs: Sequence[Pair]) -> list[str]:
    """When and where it was run again, if it was, and how many verdicts stayed."""
    if not pairs:
        return []
    source = read_json(evidence / AGAIN / "provenance.json", "make it again with `recombine compare --publish`")
    where = source["machines"][0]["device"]
    return [f"run again {', '.join(source['trained'])} on {where}: {summary(pairs)}"]


def other_verdict(pair: Pair) -> str:
    """What came out the second time, if that was another verdict."""
    return "" if pair.same else f"; again {verdict_text(pair.again)}"


def _finished(provenance: dict[str, Any]) -> dict[str, str | None]:
    """{address: when that run was finished}; early evidence does not say when."""
    return {member["address"]: member.get("outcome", {}).get("finished") for member in provenance["members"]}
