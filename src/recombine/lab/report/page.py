"""The report of an experiment: one HTML page that stands alone, images inside, no other host asked for anything.

It shows the question, what was run, the verdicts beside the paper's numbers, figures, samples, the calibration of
the instruments, the cost, the whole config, where it all comes from, and the command that makes it again.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from recombine.errors import RunFailed
from recombine.files import write_whole
from recombine.lab.numbers import interval_text, number_text

_KINDS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}


@dataclass(frozen=True)
class ReportFigure:
    """A picture on disk with its caption; names that begin with "samples" stand in their own section."""

    name: str
    path: Path
    caption: str


@dataclass(frozen=True)
class Report:
    """Everything the page says."""

    title: str
    question: str
    paper_figure: str
    command: str
    claims: Sequence[Mapping[str, Any]]  # as `judge_all` gives them
    figures: Sequence[ReportFigure]
    runs: Sequence[Mapping[str, Any]]  # arm, seed, address and what done.json says
    calibration: Sequence[Mapping[str, Any]]  # rows of the table whose instrument begins with "calibration."
    config: Mapping[str, Any]
    provenance: Mapping[str, Any]
    assumptions: Sequence[str] = field(default=())
    findings: Sequence[str] = field(default=())  # paragraphs; of a run of full
    small: str = ""  # what a run that is smaller than full does not show


def write_report(path: Path, report: Report) -> Path:
    """Write the page, whole or not at all."""
    write_whole(path, render_report(report))
    return path


def render_report(report: Report) -> str:
    """The page as HTML; every text is escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(number=number_text, interval=interval_text, embed=embed)
    template = environment.from_string(
        (files("recombine.lab.report") / "templates" / "report.html.j2").read_text("utf-8")
    )
    instruments, inputs, cells = calibration_grid(report.calibration)
    return template.render(
        report=report,
        drawings=[figure for figure in report.figures if not figure.name.startswith("samples")],
        sheets=[figure for figure in report.figures if figure.name.startswith("samples")],
        arms=summarize_runs(report.runs),
        verdicts={name: sum(c["verdict"] == name for c in report.claims) for name in ("holds", "fails", "undecided")},
        instruments=instruments,
        inputs=inputs,
        cells=cells,
        cost=cost_facts(report.runs),
        provenance=[
            (key, _plain(value)) for key, value in report.provenance.items() if key not in ("members", "configs")
        ],
        config=json.dumps(report.config, indent=2, ensure_ascii=False, default=str),
    )


def summarize_runs(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One line for each arm: its seeds, images for each seed, and the size of the network."""
    arms: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        arms.setdefault(str(run["arm"]), []).append(run)
    return [
        {
            "arm": arm,
            "seeds": len(members),
            "images": _range([member.get("images_seen") for member in members]),
            "parameters": _range([member.get("parameters") for member in members]),
            "runs": [{"seed": member.get("seed"), "address": member.get("address", "")} for member in members],
        }
        for arm, members in arms.items()
    ]


def calibration_grid(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str], dict[tuple[str, str], float]]:
    """Instruments, what they were asked about, and what they answered.

    Of real images the mean and the lowest answer over all kinds of them; rows with a `canvas` are named after it.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row["value"] is not None:
            name = row["instrument"].removeprefix("calibration.")
            found.setdefault(name, {}).setdefault(row.get("canvas") or "real images", []).append(row["value"])
    cells: dict[tuple[str, str], float] = {}
    for instrument, inputs in found.items():
        for shown, values in inputs.items():
            cells[instrument, shown] = sum(values) / len(values)
            if len(values) > 1:
                cells[instrument, f"{shown}, lowest"] = min(values)
    return list(found), list(dict.fromkeys(shown for _, shown in cells)), cells


def cost_facts(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What the runs cost together, as far as they say."""
    if not runs:
        return []
    images = sum(int(run.get("images_seen") or 0) for run in runs)
    # Runs that trained side by side on one device share its time.
    seconds = sum(float(run.get("seconds") or 0) / float(run.get("fleet") or 1) for run in runs)
    sampling = sum(float(run.get("sampling_seconds") or 0) / float(run.get("fleet") or 1) for run in runs)
    facts = [("runs", f"{len(runs)}"), ("images seen, all runs", f"{images:,}"), ("seconds", f"{seconds:,.0f}")]
    if sampling:
        facts.append(("of these, drawing and reading samples", f"{sampling:,.0f}"))
    if seconds > sampling:
        facts.append(("training images a second", f"{images / (seconds - sampling):,.0f}"))
    return facts


def embed(path: Path) -> str:
    """The picture as a data address, so that the page needs nothing beside it."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"{path.name}: a report shows {', '.join(_KINDS)}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RunFailed(f"cannot read the figure {path}: {error.strerror}; make the report again") from error
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _range(values: Sequence[Any]) -> str:
    known = sorted({int(value) for value in values if value is not None})
    if not known:
        return "–"
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
