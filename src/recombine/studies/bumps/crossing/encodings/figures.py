"""The figure of codes: how far apart labels are for the network, and what it makes of labels it never saw."""

from matplotlib.axes import Axes

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.bars import accuracy_bars
from recombine.lab.report.kit.curves import draw_series
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import INK, put_caption, seeds_text
from recombine.lab.rules import BySeed, average, mean
from recombine.lab.table import Curve, Table, curves, select
from recombine.runs.bump_codes import LONG, RAW
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.code_figure import draw_codes
from recombine.studies.bumps._shared.codes import COLORS, NAMES
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.studies.bumps.crossing.compose.claims import BOTH, HELD_COORDINATE, Asked, right
from recombine.studies.bumps.crossing.encodings.claims import CODES, fine
from recombine.worlds.holdouts import HORIZONTAL, SEEN, VERTICAL, Cross

SHOWN: dict[str, tuple[tuple[Asked, ...], str]] = {
    "seen: both right": (((SEEN, "both"),), "#9A9A9A"),
    "arms: the held-out coordinate": (HELD_COORDINATE, "#0072B2"),
    "where they cross: both": (BOTH, "#D55E00"),
}


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Distances in each code; accuracy with it, trained on 2D and on 2D+1D; the held-out coordinate over training."""
    with new_figure(15, 12.4, 2, 2, share_y=False) as (figure, ((codes, plain), (control, training))):
        draw_codes(codes, config, CODES, config.world.extent / 2)
        codes.legend(loc="lower right", handlelength=3.4)
        if isinstance(held := config.split.held_out, Cross):
            codes.axvspan(0, (held.high - held.low) / 2, color="#EEEEEE", zorder=0.5)
        for axes, data in ((plain, "2D"), (control, "2D+1D")):
            accuracy_bars(axes, _found(table, data), {label: color for label, (_, color) in SHOWN.items()})
            both = (mean(fine(BOTH, data, code)(table)) for code in (RAW, LONG))
            axes.set_title("{}: {:.0%} of crossings, long sinusoids {:.0%}".format(data, *both))
        _draw_training(training, table)
        one_legend(figure, plain)
        put_caption(
            figure,
            "Top left: distance between the codes of two labels, as a share of that half the label space apart; "
            "shaded: how far held-out labels lie from the nearest that were seen. Bars: share of labels that are right "
            "at the end of training, by the fine estimate; dots: seeds, "
            f"{seeds_text(select(table, model=TRAINED)['seed'].n_unique())}; the held-out coordinate is the mean over "
            "both arms. Bottom right: lines: mean over seeds, band: its 95% interval; dotted: nearest-label baseline.",
        )
    caption = (
        "How far apart labels are in each code; held-out coordinates that are right with it, beside the nearest-label "
        "baseline; and how they came to be right."
    )
    return {"figure": Drawing(figure, caption)}


def _found(table: Table, data: str) -> dict[str, dict[str, tuple[BySeed, BySeed]]]:
    nulls = {label: right(average, asked, data, "fine", NEAREST)(table) for label, (asked, _) in SHOWN.items()}
    return {
        NAMES[code].replace(" ", "\n", 1): {
            label: (fine(asked, data, code)(table), nulls[label]) for label, (asked, _) in SHOWN.items()
        }
        for code in CODES
    }


def _draw_training(axes: Axes, table: Table) -> None:
    series = {NAMES[code]: _held_coordinate(table, code) for code in CODES}
    draw_series(axes, series, colors=[COLORS[code] for code in CODES])
    axes.set_title("The held-out coordinate in the arms, 2D")
    null = right(average, HELD_COORDINATE, "2D", "fine", NEAREST)(table)
    if null and any(series.values()):
        axes.axhline(next(iter(null.values())), color=INK, linewidth=2, linestyle=":")


def _held_coordinate(table: Table, code: str) -> list[Curve]:
    """x in the vertical arm and y in the horizontal one, their mean: a curve a seed."""
    x, y = (
        curves(table, f"fine.{what}", data="2D", code=code, model=TRAINED, region=region)
        for region, what in ((VERTICAL, "x"), (HORIZONTAL, "y"))
    )
    return [(x[seed][0], (x[seed][1] + y[seed][1]) / 2) for seed in x.keys() & y.keys()]
