"""The figures of locality (Bradley 2026, Fig 2 left and its plot of metrics)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from recombine.instruments.locality.evaluation import LocalityProbe
from recombine.instruments.locality.maps import pixel_map
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.bars import draw_bars
from recombine.lab.report.kit.curves import band_caption, draw_mean
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.pixel_maps import pixel_maps
from recombine.lab.report.kit.style import empty_figure, house_style, put_caption, seeds_text
from recombine.lab.samples import Samples
from recombine.lab.table import Curve, at_end, curves, select
from recombine.runs.scenes import ScenesRun
from recombine.studies.local_scores._shared.label_recall import HEADLINE, arm_of
from recombine.studies.local_scores._shared.recall_panels import COLORS, EXPERIMENTS, IN_OTHER_WAYS, legend_above
from recombine.studies.local_scores.locality.claims import (
    CHANCE,
    GLOBAL_MACHINE,
    LOCAL_MACHINE,
    NEAR,
    PIXELS,
    REMOVED,
    WAYS,
)

TOTAL = "locality.conditions.removed.total"
MACHINES = {"machine\nlocal": LOCAL_MACHINE, "machine\nglobal": GLOBAL_MACHINE}
DASHES = {"3L": (0, (4, 2)), "2L linear": (0, (2, 5)), "2L whole": (0, (5, 1.5, 1, 1.5))}  # lines that coincide
SHOWN = (*COLORS, *IN_OTHER_WAYS)
Series = dict[str, tuple[dict[str, Any], dict[str, Any]]]  # label: what is drawn, and its chance


def draw(table: pl.DataFrame, config: Any) -> dict[str, Drawing]:
    """Locality over noise, and its means."""
    return {
        "figure": Drawing(
            over_noise(table), "Pixel and conditional locality over noise levels, and how much labels matter there."
        ),
        "means": Drawing(
            means(table), "Means over noise levels for every experiment, beside exact machines and chance."
        ),
    }


def sheets(kept: Mapping[str, Samples]) -> dict[str, Drawing]:
    """What one pixel depends on, of each model whose weights are at hand; not of the control, which is too slow."""
    found, frames, seeds = {}, {}, set()
    for name in EXPERIMENTS:
        samples = kept.get(arm_of(name, HEADLINE))
        model = None if samples is None else samples.model()
        if samples is None or model is None or not isinstance(run := samples.run, ScenesRun):
            continue
        sampling = run.sampling(model.denoise, "cpu")
        probe = run.locality or LocalityProbe()
        frames[f"Exp {name}"] = (sampling.cell, probe.reach)
        found[f"Exp {name}"] = pixel_map(sampling, probe.labels)
        seeds.add(samples.seed)
    if not found:
        return {}
    words = f"Seed {', '.join(map(str, sorted(seeds)))}, at the end of training."
    return {
        "maps": Drawing(pixel_maps(found, frames, words), "What one pixel of a scene depends on, over noise levels.")
    }


def over_noise(table: pl.DataFrame) -> Figure:
    """P within 2 cells, C by removal, and how much labels matter, over noise levels."""
    shown = {name: arm for name in COLORS if at_end(table, PIXELS, arm=(arm := arm_of(name, HEADLINE)), radius=NEAR)}
    if not shown:
        return empty_figure("locality was not measured")
    with new_figure(14.5, 5.8, 1, 3, share_y=False, sharex=True) as (figure, [(pixels, conditions, total)]):
        for name, arm in shown.items():
            for axes, what in (
                (pixels, {"instrument": PIXELS, "radius": NEAR}),
                (conditions, {"instrument": REMOVED}),
                (total, {"instrument": TOTAL}),
            ):
                draw_mean(
                    axes, _levels(table, arm, **what), COLORS[name], f"Exp {name}", dashes=DASHES.get(name, "-"),
                    thin=False, width=2.6,
                )  # fmt: skip
        pixels.set_title(f"pixel locality{_of_three(table, shown, instrument=PIXELS, radius=NEAR)}")
        chance = _mean(table, shown, instrument=f"{PIXELS}.chance", radius=NEAR)
        accuracy_axis(pixels, "P, gradient within 2 cells", chance)
        conditions.set_title(f"conditional locality{_of_three(table, shown, instrument=REMOVED)}")
        chance = _mean(table, shown, instrument=CHANCE[REMOVED])
        accuracy_axis(conditions, "C, influence of near labels", chance, under=True)
        total.set(title="how much labels matter", ylabel="change without a label", yscale="log")
        total.set_ylim(bottom=1e-4)  # below it C is not measured
        for axes in (pixels, conditions, total):
            _noise_axis(axes)
        pixels.invert_xaxis()  # all three: noise falls to the right, as a sampler goes
        legend_above(figure, [pixels])
        bands = band_caption(table["seed"].n_unique()).replace("Thin lines: seeds. Thick line: their mean.", "")
        put_caption(
            figure,
            "Models trained on 1 to 3 objects, with four labels, at the pixels of the four objects, on their own way "
            "from noise (left) to image (right). Titles: means over noise levels. Dotted: chance. Right: how much the "
            "denoised image changes there when a label is removed, summed over labels. C is left out where that is "
            "below 0.0001. Linear, far, whole: 2L and the controls of `length`. Lines: means of seeds.",
            bands,
        )
    return figure


def means(table: pl.DataFrame) -> Figure:
    """Bars of every experiment and machine: P within 1, 2 and 4 cells, and C by three ways."""
    arms = {f"Exp {name}".replace(" ", "\n", 2).replace("\n", " ", 1): arm_of(name, HEADLINE) for name in SHOWN}
    arms = {name: arm for name, arm in (arms | MACHINES).items() if at_end(table, PIXELS, arm=arm, sigma=None)}
    if not arms:
        return empty_figure("locality was not measured")
    radii: Series = {
        f"within {r} cell" + "s" * (r > 1): ({"instrument": PIXELS, "radius": r},
                                              {"instrument": f"{PIXELS}.chance", "radius": r})
        for r in (1, 2, 4)
    }  # fmt: skip
    ways = zip(("label removed", "label moved", "gradient to the label"), WAYS.values(), strict=True)
    by_way: Series = {name: ({"instrument": own}, {"instrument": CHANCE[own]}) for name, own in ways}
    with house_style():
        figure = Figure(figsize=(max(14, 1.2 * len(arms)), 10.4), layout="constrained")
        for axes, series, title, label in zip(
            figure.subplots(2, 1), (radii, by_way),
            ("pixel locality: share of the gradient to the image",
             "conditional locality: share of the influence of labels that comes from near ones"),
            ("P", "C"), strict=True,
        ):  # fmt: skip
            values = {
                name: {k: _ends(table, arm, what) for k, (what, _) in series.items()} for name, arm in arms.items()
            }
            chance = {
                name: {k: float(np.mean(level)) for k, (_, by) in series.items() if (level := _ends(table, arm, by))}
                for name, arm in arms.items()
            }
            draw_bars(axes, values, baseline=chance)
            axes.set_title(title)
            accuracy_axis(axes, label)
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, handlelength=2.2)
        put_caption(
            figure,
            f"Means over noise levels at the end of training, {seeds_text(table['seed'].n_unique())}: bars are means, "
            "whiskers their 95% intervals, dots seeds. Lines across bars: chance, as if all pixels, or all labels, "
            "mattered alike. Machines: exact answers of a set of discs with receptive fields of 5 x 5 cells and of the "
            "whole image; they have no gradient to labels. Channel: labels as a channel of the image or patch; "
            "multiplied, linear: a patch's labels embedded as those of whole images; far: the same, with labels within "
            "8 cells; whole: with a patch as large as the image; fixed: a list from its first slot on.",
        )
    return figure


def _ends(table: pl.DataFrame, arm: str, what: Mapping[str, Any]) -> list[float]:
    return list(at_end(table, arm=arm, sigma=None, **what).values())


def _levels(table: pl.DataFrame, arm: str, **what: Any) -> list[Curve]:
    """For each seed: noise levels, ascending, and the value at the end of training."""
    rows = select(table, arm=arm, **what).filter(pl.col("sigma").is_not_null())
    ends = rows.filter(pl.col("images_seen").eq_missing(pl.col("images_seen").max().over("seed")))
    return list(curves(ends, str(what["instrument"]), over="sigma").values())


def _mean(table: pl.DataFrame, shown: Mapping[str, str], **what: Any) -> float | None:
    values = [value for arm in shown.values() for value in _ends(table, arm, what)]
    return float(np.mean(values)) if values else None


def _of_three(table: pl.DataFrame, shown: Mapping[str, str], **what: Any) -> str:
    """The means of Exps 1 to 3, for a title."""
    own = {name: _mean(table, {name: shown[name]}, **what) for name in ("1", "2", "3") if name in shown}
    return (
        "\n" + ", ".join(f"Exp {name} {value:.2f}" for name, value in own.items() if value is not None) if own else ""
    )


def _noise_axis(axes: Axes) -> None:
    """Noise on a logarithmic axis."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("noise level sigma")
