"""The pages of the committed evidence: one an experiment, and the scoreboard of the papers.

An experiment's page is `results/STUDY/EXPERIMENT/README.md`: the figure first, then findings, verdicts, assumptions,
and how to run it. The scoreboard is `results/README.md`: every figure and numbered claim of the papers, from the
`scoreboard.yaml` of each study and the committed verdicts.
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
from recombine.lab.numbers import interval_text, number_text
from recombine.lab.publish.replication import other_verdict, read_replication, replication_facts
from recombine.lab.report.findings import findings_of, own_numbers, render_findings
from recombine.lab.table import read_table

BEGIN, END = "<!-- scoreboard -->", "<!-- /scoreboard -->"
OUTCOMES = ("reproduces", "partly", "no", "not measured")
SMALL = "**A small run ({}).** It shows the effect, where there is one; it does not judge the paper."
_FIELDS = {"paper", "figure", "says", "experiment", "claims", "found"}


def write_experiment_page(experiment: Experiment, folder: Path) -> None:
    """Renew the page of an experiment from its evidence."""
    write_whole(folder / "README.md", experiment_page(experiment, folder))


def experiment_page(experiment: Experiment, folder: Path) -> str:
    """The page of an experiment as Markdown."""
    claims = read_claims(folder / "claims.json")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    table = read_table(folder / "table.parquet")
    captions = source.get("captions", {})
    pictures = sorted(folder.glob("*.png"), key=lambda path: (path.stem != "figure", path.stem.startswith("samples")))
    first, rest = pictures[:1], pictures[1:]
    whole = source["budget"] == "full"
    findings = findings_of(experiment, claims, table, source).strip() if whole else SMALL.format(source["budget"])
    replicated = read_replication(folder)
    others = {pair.committed["claim"]: other_verdict(pair) for pair in replicated}
    papers, checks = ([c for c in claims if c.get("check", False) is kind] for kind in (False, True))
    lines = [
        f"# {experiment.address}", "", f"*{experiment.question}* In the paper: {experiment.figure}.", "",
        *(line for path in first for line in _picture(path, captions)),
        *((findings, "") if findings else ()),
        "## Verdicts", "", "The rule that judges a claim stands in brackets. A claim holds if all of the 95% interval "
        "agrees with it, fails if none does, and is undecided otherwise or on fewer than five seeds.", "",
        *(_verdicts("The paper's claims", papers, others) if papers else ()),
        *(_verdicts("Our own checks", checks, others) if checks else ()),
        *(line for path in rest if not path.stem.startswith("samples") for line in _picture(path, captions)),
    ]  # fmt: skip
    if experiment.assumptions:
        lines += ["## Assumptions about the paper", "", *(f"- {text}" for text in experiment.assumptions), ""]
    lines += ["## How to run it", "", f"    {source['command']}", "", *(f"- {fact}" for fact in _facts(source)),
              *(f"- {fact}" for fact in replication_facts(folder, replicated)), ""]  # fmt: skip
    sheets = [path for path in rest if path.stem.startswith("samples")]
    if sheets:
        lines += ["## Samples", "", *(line for path in sheets for line in _picture(path, captions))]
    return "\n".join(lines).rstrip() + "\n"


def _picture(path: Path, captions: Mapping[str, str]) -> list[str]:
    caption = captions.get(path.stem, "")
    alt = caption.partition(".")[0] or path.stem
    drawing = path.with_suffix(".svg")
    sources = f" ([SVG]({_quoted(drawing.name)}))" if drawing.exists() else ""
    return [f"![{alt}]({_quoted(path.name)})", "", *((f"*{caption}*{sources}", "") if caption else ())]


def _quoted(name: str) -> str:
    return name.replace(" ", "%20")


def _verdicts(title: str, claims: Sequence[Mapping[str, Any]], others: Mapping[str, str]) -> list[str]:
    rows = [
        f"| {c['claim']} | {c['says']} | {c['paper']} | {number_text(c['estimate'])} | {interval_text(c['interval'])} "
        f"| {c['n']} | **{c['verdict']}**{others.get(c['claim'], '')} |"
        for c in claims
    ]
    notes = [f"- {c['claim']}: {c['note']}" for c in claims if c["note"]]
    heading = ["| claim | says | paper | ours | 95% interval | n | verdict |", "|---|---|---|---|---|---|---|"]
    return [f"### {title}", "", *heading, *rows, "", *notes, *([""] if notes else [])]


def _facts(source: Mapping[str, Any]) -> list[str]:
    """What was run, where, when and at what cost."""
    machine, missing = source["machines"][0], source.get("missing", 0)
    made = (
        f"{source['runs']} runs, {source['images_seen']:,} images"
        if source["images_seen"]
        else f"{source['runs']} computations"
    )
    beside = source.get("computing_seconds", 0)
    computing = f", and {beside:,.0f} s of computing on a processor" if beside >= 1 else ""
    return [
        *([f"**not complete: {missing} of {source['runs'] + missing} runs are missing**"] if missing else []),
        f"{made}; {source['device_seconds']:,.0f} s on {machine['device']}{computing}",
        f"trained {', '.join(source['trained'])}; torch {machine['torch']}, Python {machine['python']}, "
        f"recombine {machine['recombine']}",
    ]


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
    from recombine.studies import study_folders

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
    asked = entry.get("claims") or []
    if missing := [name for name in asked if name not in verdicts]:
        raise RunFailed(f"{path}, {entry['figure']}: no claim '{missing[0]}' was judged")
    address = entry.get("experiment", "")
    found = entry["found"]
    if address and "{{" in found:
        found = _filled(found, address, results, f"{path}, {entry['figure']}", verdicts)
    return {
        "paper": entry["paper"], "figure": entry["figure"], "says": entry["says"], "found": found,
        "experiment": address if (results / address / "claims.json").exists() else "",
        "claims": asked, "outcome": outcome_of(verdicts[name]["verdict"] for name in asked),
    }  # fmt: skip


def _filled(text: str, address: str, results: Path, where: str, verdicts: Mapping[str, Any]) -> str:
    from recombine.studies import EXPERIMENTS

    folder = results / address
    table = read_table(folder / "table.parquet")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    return render_findings(text, verdicts.values(), table, source, own_numbers(EXPERIMENTS[address], table), where)


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
