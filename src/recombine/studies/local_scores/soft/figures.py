"""The figure of networks that are penalised for non-local conditions."""

from typing import Any

from matplotlib.figure import Figure

from recombine.instruments.scenes.counting import LEAST, RECALL
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import band_caption, draw_mean
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.scene_sheets import marked_sheet
from recombine.lab.report.kit.style import INK, empty_figure, empty_panel, put_caption
from recombine.lab.table import Table
from recombine.studies.local_scores._shared.label_recall import BEYOND, Measure, beyond, chance_beyond, values_of
from recombine.studies.local_scores._shared.recall_panels import count_line, swept
from recombine.studies.local_scores.locality.claims import GRADIENT
from recombine.studies.local_scores.soft.claims import LOCAL, locality, soft_arm, weights

SHADES = ("#D55E00", "#4d9bd1", "#1f5a94", "#0b2545")  # from no penalty up
BUILT = "#009E73"  # local by construction

sheets = marked_sheet(
    "Samples of networks with each weight of the penalty for 1, 3, 6 and 9 labels, which are marked.",
    lambda arm: "Exp 2L" if arm == LOCAL else arm,
)


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Recall over the number of labels for every weight; locality and recall over the weight."""
    caption = "Label recall over the number of labels; conditional locality and recall over the penalty's weight."
    return {"figure": Drawing(penalties(table), caption)}


def penalties(table: Table) -> Figure:
    """Recall over the number of labels; then what the weight does to locality and recall."""
    measured = weights(table)
    if not measured:
        return empty_figure("no penalty was measured")
    shown: dict[str, tuple[tuple[str, Measure], ...]] = {
        "conditional locality": (("-", locality()), ("--", locality(GRADIENT))),
        f"recall, more than {BEYOND} labels": (("-", beyond), (":", chance_beyond)),
    }
    with new_figure(14.5, 6, 1, 3, share_y=False) as (figure, [(first, *others)]):
        for weight, color in zip(measured, SHADES, strict=False):
            count_line(first, table, soft_arm(weight), RECALL, color, soft_arm(weight))
        count_line(first, table, LOCAL, RECALL, BUILT, "Exp 2L")
        first.axhline(LEAST, color="#404040", linestyle=":", linewidth=1)
        first.axvspan(0.5, BEYOND + 0.5, color="#eeeeee", zorder=0)
        first.set(title="label recall", xlabel="labels")
        first.legend(loc="best", fontsize=12)
        accuracy_axis(first, "recall")
        for axes, (title, lines) in zip(others, shown.items(), strict=True):
            axes.set(title=title, xlabel="weight of the penalty")
            for style, measure in lines:
                if curves := swept(table, {place: soft_arm(w) for place, w in enumerate(measured)}, measure):
                    draw_mean(axes, curves, INK, dashes=style, width=1.8)
                for level in values_of(table, LOCAL, measure):
                    axes.axhline(level, color=BUILT, linewidth=0.8, linestyle=style, zorder=1)
            if not axes.lines:
                empty_panel(axes, "not measured")
            accuracy_axis(axes, "")
            axes.set_xticks(range(len(measured)), [f"{weight:g}" for weight in measured])
        put_caption(
            figure,
            "Exp 2 with a penalty on what a label changes further than its reach from it. Left: dotted, a recall of "
            f"{LEAST:g}; shaded, numbers of objects trained on. Others: green, Exp 2L, local by construction. Locality "
            "on a scale from chance 0 to 1, by taking a label out (solid) and by the gradient to it (dashed). Dotted "
            "at the right: recall against the labels of other layouts.",
            band_caption(table["seed"].n_unique()),
        )
    return figure
