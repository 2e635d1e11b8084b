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
from recombine.lab.report.findings import numbers_of, render_findings
from recombine.lab.table import read_table
from recombine.studies import EXPERIMENTS, study_folders

BEGIN, END = "<!-- scoreboard -->", "<!-- /scoreboard -->"
OUTCOMES = ("reproduces", "partly", "no", "not measured")
_FIELDS = {"paper", "figure", "says", "experiment", "claims", "found"}


def write_scoreboard(results: Path) -> None:
    """Renew the scoreboard, and its totals in the project's own README if that has a place for them."""
    write_whole(results / "README.md", scoreboard_page(results))
    readme = results.parent / "README.md"
    if readme.is_file() and BEGIN in (text := readme.read_text(encoding="utf-8")):
        write_whole(readme, with_totals(text, scoreboard(results)))


def with_totals(text: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A text with the totals of the scoreboard between its marks."""
    before, _, rest = text.partition(BEGIN)
    return "\n".join([before + BEGIN, *_totals(rows), END + rest.partition(END)[2]])


def scoreboard_page(results: Path) -> str:
    """The scoreboard as Markdown: every figure and numbered claim of the papers, then our own checks."""
    rows = scoreboard(results)
    lines = [
        "# Scoreboard", "", "What the papers say beside what came out here, a row for each of their figures and "
        "numbered claims. *Reproduces*: every claim that was judged holds. *Partly*: some hold. *No*: none holds and "
        "some fail. *Not measured*: nothing was judged, or nothing could be decided. Made from the committed verdicts "
        "by `recombine scoreboard --write`; do not edit.", "",
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


def scoreboard(results: Path) -> list[dict[str, Any]]:
    """Every row of the scoreboard: paper, figure, says, experiment, outcome, found."""
    paths = [path for root in study_folders() for path in sorted(root.glob("*/**/scoreboard.yaml"))]
    verdicts = {
        claim["claim"]: claim
        for path in sorted(results.glob("*/*/claims.json"))
        for claim in read_claims(path)
    }  # fmt: skip
    return [_row(entry, path, verdicts, results) for path in paths for entry in _entries(path)]


def outcome_of(verdicts: Iterable[str]) -> str:
    """What the verdicts on a figure's claims come to."""
    given = list(verdicts)
    if given and all(verdict == "holds" for verdict in given):
        return "reproduces"
    if "holds" in given:
        return "partly"
    return "no" if "fails" in given else "not measured"


def _entries(path: Path) -> list[dict[str, Any]]:
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    for entry in entries:
        if unknown := set(entry) - _FIELDS:
            raise RunFailed(f"{path}: no field '{min(unknown)}'; there are {', '.join(sorted(_FIELDS))}")
    return list(entries)


def _row(entry: Mapping[str, Any], path: Path, verdicts: Mapping[str, Any], results: Path) -> dict[str, Any]:
    asked, address, found = entry.get("claims") or [], entry.get("experiment", ""), entry["found"]
    missing = [name for name in asked if name not in verdicts]
    if unknown := sorted(set(missing) - known_claims()):
        raise RunFailed(f"{path}, {entry['figure']}: no experiment has a claim '{unknown[0]}'")
    if missing or (address and not (results / address / "claims.json").exists()):
        found = "Not judged in this folder of results." if missing or "{{" in found else found
    elif address and "{{" in found:
        found = _filled(found, address, results, f"{path}, {entry['figure']}", verdicts)
    return {
        "paper": entry["paper"], "figure": entry["figure"], "says": entry["says"], "found": found,
        "experiment": address if (results / address / "claims.json").exists() else "",
        "claims": asked,
        "outcome": "not measured" if missing else outcome_of(verdicts[name]["verdict"] for name in asked),
    }  # fmt: skip


def known_claims() -> set[str]:
    """The ids of all claims of all experiments."""
    return {claim.id for experiment in EXPERIMENTS.values() for claim in experiment.claims}


def _filled(text: str, address: str, results: Path, where: str, verdicts: Mapping[str, Any]) -> str:
    folder = results / address
    table = read_table(folder / "table.parquet")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    return render_findings(text, verdicts.values(), table, source, numbers_of(EXPERIMENTS[address], table), where)


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
