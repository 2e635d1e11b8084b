"""Committed evidence: the small files under `results/`, and RESULTS.md, which is made from them alone.

An experiment's evidence is its table, verdicts, pictures and provenance; the table is enough to judge it again.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

from recombine.files import read_json, write_json, write_whole
from recombine.lab.claims import judge_all, read_claims
from recombine.lab.experiment import Experiment, Plan
from recombine.lab.numbers import interval_text, number_text
from recombine.lab.publish.replication import AGAIN, again_facts, other_verdict, read_again, renew_again
from recombine.lab.report.conclude import variant
from recombine.lab.report.kit.style import figure_bytes
from recombine.lab.store import Store
from recombine.lab.table import read_table
from recombine.settings import build

VISIBLE, FEW_PIXELS = 32, 0.002  # of 255: a colour that is seen to differ; the share of a picture that may


def publish(plan: Plan, store: Store, results: Path) -> Path:
    """Copy the evidence of a concluded experiment into `results/STUDY/EXPERIMENT/` and renew RESULTS.md.

    What was run again beside older evidence is not kept.
    """
    source = store.experiment(plan.experiment.study, plan.experiment.name, variant(plan))
    target = results / plan.experiment.study / plan.experiment.name
    shutil.rmtree(target / AGAIN, ignore_errors=True)
    for path in sorted(source.iterdir()):
        if path.suffix == ".png":
            write_whole(target / path.name, _lean(path.read_bytes()))
        elif path.name in ("claims.json", "table.parquet", "provenance.json"):
            write_whole(target / path.name, path.read_bytes())
    write_page(results)
    return target


def _beside(source: dict[str, Any]) -> str:
    """Computations that ran while others trained."""
    seconds = source.get("computing_seconds", 0)
    return f", and {seconds:,.0f} s of computing on a processor" if seconds >= 1 else ""


def _lean(picture: bytes) -> bytes:
    """A PNG in 256 colours, a third of the bytes, where that is the same to the eye; else as it is.

    On sheets of samples a few small objects can lose their colours to many shades of the ground.
    """
    from PIL import Image, ImageChops

    buffer = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as opened:
        whole = opened.convert("RGB")
    lean = whole.quantize(256)
    red, green, blue = ImageChops.difference(whole, lean.convert("RGB")).split()
    off = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    changed = sum(off.histogram()[VISIBLE:]) / (whole.width * whole.height)
    (lean if changed < FEW_PIXELS else whole).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def renew(experiment: Experiment, results: Path) -> list[dict[str, Any]]:
    """Judge and draw the committed evidence of an experiment again, from its own table, and renew RESULTS.md."""
    folder = results / experiment.study / experiment.name
    table = read_table(folder / "table.parquet")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    claims = judge_all(experiment.claims, table, experiment.study, experiment.name, source["budget"])
    write_json(folder / "claims.json", claims)
    write_json(folder / "provenance.json", source | {"seen": list(experiment.seen)})
    renew_again(experiment, folder)
    arm, config = next(iter(source["configs"].items()))
    kind = type(experiment.budgets[source["budget"]].arms[arm])
    for name, drawing in experiment.draw(table, build(kind, config)).items():
        write_whole(folder / f"{name}.png", _lean(figure_bytes(drawing.figure, "png")))
    write_page(results)
    return claims


def write_page(results: Path) -> None:
    """Renew RESULTS.md, beside the folder of results."""
    write_whole(results.parent / "RESULTS.md", results_page(results))


def results_page(results: Path) -> str:
    """RESULTS.md: every committed verdict beside the paper's number, made from `results/` alone."""
    lines = [
        "# Results",
        "",
        "Generated from `results/` by `recombine report --publish`; do not edit.",
        "",
        "In brackets beside the paper's words: the rule that judges them. Intervals of means over seeds are Student's, "
        "of shares of seeds exact (Clopper and Pearson), of medians and other statistics bootstrap. A claim holds if "
        "all of the interval agrees, fails if none does; one about every seed fails if one seed differs. Fewer than "
        "five seeds decide nothing. Where an experiment was run again with the same seeds, which on a GPU need not "
        "give the same bits, a verdict that came out otherwise stands beside the first.",
        "",
    ]
    for path in sorted(results.glob("*/*/claims.json")):
        lines += _results_section(path.parent, results.parent)
    return "\n".join(lines)


def _results_section(folder: Path, root: Path) -> list[str]:
    claims = read_claims(folder / "claims.json")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    again = read_again(folder)
    machine = source["machines"][0]
    missing = source.get("missing", 0)
    facts = (
        f"`{source['command']}`",
        *([f"**not complete: {missing} of {source['runs'] + missing} runs are missing**"] if missing else []),
        f"{source['runs']} runs, {source['images_seen']:,} images"
        if source["images_seen"]
        else f"{source['runs']} computations",
        f"{source['device_seconds']:,.0f} s on {machine['device']}{_beside(source)}",
        f"trained {', '.join(source['trained'])}",
        f"torch {machine['torch']}, Python {machine['python']}, recombine {machine['recombine']}",
        *again_facts(folder, again),
    )
    others = {pair.committed["claim"]: other_verdict(pair) for pair in again}
    rows = [
        f"| {c['claim']} | {c['says']} | {c['paper']} | {number_text(c['estimate'])} | {interval_text(c['interval'])} "
        f"| {c['n']} | **{c['verdict']}**{others.get(c['claim'], '')} |"
        for c in claims
    ]
    heading = ["| claim | says | paper | ours | 95% interval | n | verdict |", "|---|---|---|---|---|---|---|"]
    notes = [f"- {c['claim']}: {c['note']}" for c in claims if c["note"]]
    paths = sorted(
        folder.glob("*.png"), key=lambda p: (not p.name.startswith("figure"), p.name != "figure.png", p.name)
    )
    pictures = [f"![{p.stem}]({p.relative_to(root).as_posix()})" for p in paths]
    title = f"## {folder.parent.name}/{folder.name}"
    seen = [line for paragraph in source.get("seen", []) for line in (paragraph, "")]
    return [title, "", " · ".join(facts), "", *heading, *rows, "", *notes, "", *seen, *pictures, ""]
