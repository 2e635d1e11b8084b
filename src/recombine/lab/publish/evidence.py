"""Committed evidence: the small files in `results/STUDY/EXPERIMENT/`, and the pages that are made from them alone.

Evidence is a table, verdicts, pictures and provenance; the table is enough to judge and to draw it again.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from recombine.errors import UserError
from recombine.files import read_json, write_json, write_whole
from recombine.lab.claims import judge_all
from recombine.lab.experiment import Experiment, Plan
from recombine.lab.publish.pages import write_experiment_page
from recombine.lab.publish.replication import REPLICATION, judge_replication
from recombine.lab.report.conclude import variant
from recombine.lab.report.kit.style import figure_bytes
from recombine.lab.store import Store
from recombine.lab.table import read_table
from recombine.settings import build

KEPT = ("claims.json", "table.parquet", "provenance.json")
LARGEST_SVG = 150_000  # bytes: a drawing of more is kept as PNG alone, for the sake of those who clone
DPI = 80  # of a PNG beside its SVG


def publish(plan: Plan, store: Store, results: Path) -> Path:
    """Copy the evidence of a concluded experiment into `results/STUDY/EXPERIMENT/`, draw it and renew its page.

    A replication of older evidence is not kept.
    """
    source = store.experiment(plan.experiment.study, plan.experiment.name, variant(plan))
    target = results / plan.experiment.study / plan.experiment.name
    shutil.rmtree(target / REPLICATION, ignore_errors=True)
    for name in KEPT:
        write_whole(target / name, (source / name).read_bytes())
    renew(plan.experiment, results)
    for path in sorted(source.glob("*.png")):  # what is drawn from samples and weights, which are not published
        if not (target / path.name).exists() or path.stem.startswith("samples"):
            keep_picture(target / path.name, path.read_bytes())
    write_experiment_page(plan.experiment, target)
    return target


def renew(experiment: Experiment, results: Path) -> list[dict[str, Any]]:
    """Judge and draw the committed evidence of an experiment again, from its own table, and renew its page."""
    folder = results / experiment.study / experiment.name
    if not folder.is_dir():
        raise UserError(f"nothing of {experiment.address} is published in {results}")
    table = read_table(folder / "table.parquet")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    claims = judge_all(experiment.claims, table, experiment.study, experiment.name, source["budget"])
    write_json(folder / "claims.json", claims)
    judge_replication(experiment, folder)
    if experiment.draw is not None:
        arm, config = next(iter(source["configs"].items()))
        kind = type(experiment.budgets[source["budget"]].arms[arm])
        captions = {}
        for name, drawing in experiment.draw(table, build(kind, config)).items():
            captions[name] = drawing.caption
            keep_picture(folder / f"{name}.png", figure_bytes(drawing.figure, "png", DPI))
            keep_picture(folder / f"{name}.svg", figure_bytes(drawing.figure, "svg"))
        write_json(folder / "provenance.json", source | {"captions": source.get("captions", {}) | captions})
    write_experiment_page(experiment, folder)
    return claims


def keep_picture(path: Path, picture: bytes) -> None:
    """Write a picture into the evidence without loss of colours, in as few bytes as it takes.

    Sheets of samples are kept as WebP, a quarter smaller than PNG.
    """
    if path.suffix == ".svg":
        if len(picture) > LARGEST_SVG:
            path.unlink(missing_ok=True)
        else:
            write_whole(path, picture)
    elif path.stem.startswith("samples"):
        path.unlink(missing_ok=True)
        write_whole(path.with_suffix(".webp"), packed(picture, "WEBP"))
    else:
        write_whole(path, packed(picture, "PNG"))


def packed(picture: bytes, kind: str) -> bytes:
    """A picture of the same pixels; a PNG of no more than 256 colours gets a palette."""
    import io

    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as opened:
        whole = opened.convert("RGB")
    if kind == "WEBP":
        whole.save(buffer, format=kind, lossless=True, exact=True)
        return buffer.getvalue()
    if whole.getcolors(256) is not None:
        whole = whole.quantize(256, dither=Image.Dither.NONE)
    whole.save(buffer, format=kind, optimize=True)
    return min(buffer.getvalue(), picture, key=len)
