"""The scoreboard of the papers, `results/README.md`: every figure and numbered claim, one row each.

Rows come from the `scoreboard.yaml` of each study; what came out follows from the committed verdicts alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from recombine.errors import RunFailed
from recombine.files import read_json, write_whole
from recombine.lab.claims import read_claims
from recombine.lab.experiment import Experiment
from recombine.lab.report.findings import numbers_of, render_findings
from recombine.lab.table import read_table

BEGIN, END = "<!-- scoreboard -->", "<!-- /scoreboard -->"
OUTCOMES = ("reproduces", "partly", "no", "undecided", "not measured")
Registry = Mapping[str, Experiment]
NOT_HERE = "Not judged in this folder of results."
_FIELDS = {"paper", "figure", "says", "experiment", "claims", "found"}


def write_scoreboard(results: Path, registry: Registry, folders: Sequence[Path]) -> None:
    """Renew the scoreboard, and its totals in the project's own README if that has a place for them."""
    rows = scoreboard(results, registry, folders)
    write_whole(results / "README.md", scoreboard_page(results, rows))
    readme = results.parent / "README.md"
    if readme.is_file() and BEGIN in (text := readme.read_text(encoding="utf-8")):
        write_whole(readme, with_totals(text, rows))


def with_totals(text: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A text with the totals of the scoreboard between its marks."""
    before, _, rest = text.partition(BEGIN)
    return "\n".join([before + BEGIN, *_totals(rows), END + rest.partition(END)[2]])


def scoreboard_page(results: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """The scoreboard as Markdown: every figure and numbered claim of the papers, then our own checks."""
    lines = [
        "# Scoreboard", "", "What the papers say beside what came out here, a row for each of their figures and "
        "numbered claims. *Reproduces*: every claim that was judged holds. *Partly*: some hold. *No*: none holds and "
        "some fail. *Undecided*: the intervals decide nothing. *Not measured*: no claim was judged. Made from the "
        "committed verdicts by `recombine scoreboard --write`; do not edit.", "",
        *_totals(rows), "",
    ]  # fmt: skip
    for paper in dict.fromkeys(row["paper"] for row in rows):
        lines += [f"## {paper}", "", "| figure | the paper says | here | what came out |", "|---|---|---|---|"]
        for row in (row for row in rows if row["paper"] == paper):
            link = f" [{row['experiment']}]({row['experiment']}/README.md)" if row["experiment"] else ""
            found = " ".join(row["found"].split())
            lines.append(f"| {row['figure']} | {row['says']} | **{row['outcome']}** | {found}{link} |")
        lines.append("")
    return "\n".join([*lines, *_own_checks(results)]).rstrip() + "\n"


def scoreboard(results: Path, registry: Registry, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Every row of the scoreboards in these folders of studies: paper, figure, says, experiment, outcome, found."""
    paths = [path for root in folders for path in sorted(root.glob("*/**/scoreboard.yaml"))]
    verdicts = {
        claim["claim"]: claim
        for path in sorted(results.glob("*/*/claims.json"))
        for claim in read_claims(path)
    }  # fmt: skip
    return [_row(entry, path, verdicts, results, registry) for path in paths for entry in _entries(path)]


def outcome_of(claims: Iterable[Mapping[str, Any]]) -> str:
    """What the verdicts on a figure's claims come to."""
    judged = list(claims)
    given = [claim["verdict"] for claim in judged]
    if given and all(verdict == "holds" for verdict in given):
        return "reproduces"
    if "holds" in given:
        return "partly"
    if "fails" in given:
        return "no"
    return "undecided" if any(claim["estimate"] is not None for claim in judged) else "not measured"


def _entries(path: Path) -> list[dict[str, Any]]:
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    for entry in entries:
        if unknown := set(entry) - _FIELDS:
            raise RunFailed(f"{path}: no field '{min(unknown)}'; there are {', '.join(sorted(_FIELDS))}")
    return list(entries)


def _row(
    entry: Mapping[str, Any], path: Path, verdicts: Mapping[str, Any], results: Path, registry: Registry
) -> dict[str, Any]:
    asked, address, found = entry.get("claims") or [], entry.get("experiment", ""), entry["found"]
    missing = [name for name in asked if name not in verdicts]
    known = {claim.id for experiment in registry.values() for claim in experiment.claims} if missing else set()
    if unknown := sorted(set(missing) - known):
        raise RunFailed(f"{path}, {entry['figure']}: no experiment has a claim '{unknown[0]}'")
    published = bool(address) and _is_full(results / address)
    if "{{" in found:
        where = f"{path}, {entry['figure']}"
        whole = published and not missing
        found = _filled(found, registry[address], results, where, verdicts) if whole else NOT_HERE
    return {
        "paper": entry["paper"], "figure": entry["figure"], "says": entry["says"], "found": found,
        "experiment": address if published else "", "claims": asked,
        "outcome": "not measured" if missing else outcome_of(verdicts[name] for name in asked),
    }  # fmt: skip


def _is_full(folder: Path) -> bool:
    """Whether evidence at full is committed there."""
    source = folder / "provenance.json"
    return source.exists() and read_json(source, "publish it again")["budget"] == "full"


def _filled(text: str, experiment: Experiment, results: Path, where: str, verdicts: Mapping[str, Any]) -> str:
    folder = results / experiment.address
    table = read_table(folder / "table.parquet")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    return render_findings(text, verdicts.values(), table, source, numbers_of(experiment, table), where)


def _totals(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["| paper | " + " | ".join(OUTCOMES) + " |", "|---|" + "---|" * len(OUTCOMES)]
    for paper in dict.fromkeys(row["paper"] for row in rows):
        counts = [sum(r["outcome"] == outcome for r in rows if r["paper"] == paper) for outcome in OUTCOMES]
        lines.append(f"| {paper} | " + " | ".join(map(str, counts)) + " |")
    return lines


def _own_checks(results: Path) -> list[str]:
    lines = ["## Our own checks", "", "Controls, calibrations and further questions, which no paper claims.", "",
             "| experiment | holds | fails | undecided |", "|---|---|---|---|"]  # fmt: skip
    for path in sorted(results.glob("*/*/claims.json")):
        given = [claim["verdict"] for claim in read_claims(path) if claim.get("check")]
        if given:
            address = f"{path.parent.parent.name}/{path.parent.name}"
            counts = " | ".join(str(given.count(verdict)) for verdict in ("holds", "fails", "undecided"))
            lines.append(f"| [{address}]({address}/README.md) | {counts} |")
    return lines
