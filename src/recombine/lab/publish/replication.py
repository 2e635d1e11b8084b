"""A replication: an experiment run once more with the same seeds, kept in `results/STUDY/EXPERIMENT/replication/`.

On a GPU the same seeds need not give the same bits. A verdict that comes out differently lies within what running it
once more can change, so the page of the experiment says it.
"""

from __future__ import annotations

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

REPLICATION = "replication"  # a folder beside the evidence


def publish_replications(experiments: Iterable[Experiment], store: Store, results: Path) -> None:
    """Keep the tables and verdicts of replications at full beside their evidence, all of them or none."""
    found = [(store.experiment(e.study, e.name, "full"), results / e.study / e.name, e.address) for e in experiments]
    checked = [(source, evidence, _replication(source, evidence, address)) for source, evidence, address in found]
    for source, evidence, provenance in checked:
        for name in ("table.parquet", "claims.json"):
            write_whole(evidence / REPLICATION / name, (source / name).read_bytes())
        kept = {key: value for key, value in provenance.items() if key != "configs"}  # which are those of the evidence
        write_json(evidence / REPLICATION / "provenance.json", kept)


def _replication(source: Path, evidence: Path, address: str) -> dict[str, Any]:
    """Its provenance: it is whole, of the settings and seeds of the evidence, and not the evidence itself."""
    provenance = read_json(source / "provenance.json", "make it again with `recombine report`")
    committed = read_json(evidence / "provenance.json", "publish evidence first: `recombine report --publish`")
    if provenance["missing"]:
        raise UserError(f"{provenance['missing']} runs of {address} are missing in this store: finish it first")
    runs, known = _finished(provenance), _finished(committed)
    if runs.keys() != known.keys():
        raise UserError(f"{address} in this store is not of the same settings and seeds as the evidence")
    if any(finished == known[run] for run, finished in runs.items()):
        raise UserError(f"{address} in this store has runs of the evidence itself: run it in a new store")
    return provenance


def judge_replication(experiment: Experiment, evidence: Path) -> None:
    """Judge a committed replication once more, from its table."""
    folder = evidence / REPLICATION
    if folder.exists():
        table = read_table(folder / "table.parquet")
        claims = judge_all(experiment.claims, table, experiment.study, experiment.name, "full")
        write_json(folder / "claims.json", claims)


def read_replication(evidence: Path) -> list[Pair]:
    """Each claim of the evidence beside its verdict in the replication; empty if there is none."""
    folder = evidence / REPLICATION
    if not folder.exists():
        return []
    return pair_claims(read_claims(folder / "claims.json"), read_claims(evidence / "claims.json"))


def replication_facts(evidence: Path, pairs: Sequence[Pair]) -> list[str]:
    """When and where it was replicated, if it was, and how many verdicts stayed."""
    if not pairs:
        return []
    source = read_json(evidence / REPLICATION / "provenance.json", "make it again with `recombine compare --publish`")
    where = source["machines"][0]["device"]
    return [f"replicated {', '.join(source['trained'])} on {where}: {summary(pairs)}"]


def other_verdict(pair: Pair) -> str:
    """What came out in the replication, if that was another verdict."""
    return "" if pair.same else f"; replication: {verdict_text(pair.replicated)}"


def _finished(provenance: dict[str, Any]) -> dict[str, str | None]:
    """{address: when that run was finished}; early evidence does not say when."""
    return {member["address"]: member.get("outcome", {}).get("finished") for member in provenance["members"]}
