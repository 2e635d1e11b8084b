"""The page of an experiment's evidence, `results/STUDY/EXPERIMENT/README.md`.

The figure comes first, then findings, verdicts, assumptions about the paper, and how to run it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recombine.files import read_json, write_whole
from recombine.lab.claims import read_claims
from recombine.lab.experiment import Experiment
from recombine.lab.numbers import interval_text, number_text
from recombine.lab.publish.replication import other_verdict, read_replication, replication_facts
from recombine.lab.report.findings import findings_of
from recombine.lab.table import read_table

RULE = (
    "The bound that a rule compares with stands in brackets in the column of the paper. A claim about a mean holds if "
    "all of the 95% interval agrees with it, fails if none does, and is undecided otherwise or on fewer than five "
    "seeds; one about every seed holds if all of them agree and fails if one does not. In `identity-mapping` n counts "
    "starts."
)
SMALL = "**A small run ({}).** It shows the effect, where there is one; it does not judge the paper."


def write_experiment_page(experiment: Experiment, folder: Path) -> None:
    """Renew the page of an experiment from its evidence."""
    write_whole(folder / "README.md", experiment_page(experiment, folder))


def experiment_page(experiment: Experiment, folder: Path) -> str:
    """The page of an experiment as Markdown."""
    claims = read_claims(folder / "claims.json")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    table = read_table(folder / "table.parquet")
    captions = source.get("captions", {})
    found = [path for path in folder.iterdir() if path.suffix in (".png", ".webp")]
    pictures = sorted(found, key=lambda path: (path.stem != "figure", path.stem.startswith("samples"), path.name))
    first, rest = pictures[:1], pictures[1:]
    whole = source["budget"] == "full"
    findings = findings_of(experiment, claims, table, source).strip() if whole else SMALL.format(source["budget"])
    replicated = read_replication(folder)
    others = {pair.committed["claim"]: other_verdict(pair) for pair in replicated}
    papers, checks = ([c for c in claims if c.get("check", False) is kind] for kind in (False, True))
    lines = [
        f"# {experiment.address}", "",
        f"*{experiment.question}* In the paper: {experiment.figure}.{_guide(folder)}", "",
        *(line for path in first for line in _picture(path, captions)),
        *((findings, "") if findings else ()),
        "## Verdicts", "", RULE, "",
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


def _guide(folder: Path) -> str:
    """Where the words of a study are explained, if that is beside this folder of results."""
    study = folder.parent.name
    there = (folder.parents[2] / "docs" / f"{study}.md").is_file()
    return (
        f" Words, figures of the paper and assumptions: [guide to {study}](../../../docs/{study}.md)." if there else ""
    )


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
