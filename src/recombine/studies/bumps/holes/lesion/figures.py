"""The figures of bands that were held out (Liang et al. 2024, Fig. 11)."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.bumps.band_evaluation import BAND, BIN
from recombine.instruments.bumps.evaluation import ALL
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import draw_sweep
from recombine.lab.report.kit.maps import draw_map, places_of
from recombine.lab.report.kit.ordered import shades
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import INK, empty_figure, empty_panel, put_caption, seeds_text
from recombine.lab.report.kit.sweeps import CROSS, mark_mean, shade_baseline, size_axis
from recombine.lab.rules import mean
from recombine.lab.sweeps import levels
from recombine.lab.table import Table, at_end, at_ends, select
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.studies.bumps.holes.lesion.claims import expected, over_widths, widths_of
from recombine.worlds.holdouts import HELD_OUT, SEEN

REGIONS = {SEEN: ("seen", "#4D4D4D"), ALL: ("all", "#E69F00"), HELD_OUT: ("held out", "#D55E00")}
ESTIMATES = {"fine": ("fine estimate", "#0072B2", "o"), "darkest": ("darkest pixel", "#56B4E9", "s")}
MARKERS = "osD^vP<>"
PAPER = (1.0, 3.5, 8.0)  # widths whose maps Fig 11c shows


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Accuracy over the width of the band, by region and by depth; maps of a block."""
    return {
        "figure": Drawing(
            over_width(table, config),
            "Bumps that are right where none was seen, over the width of the band that was held out; by region, as in "
            "the paper; and how far inside a band they still are.",
        ),
        "maps": Drawing(maps(table), "Where a block of the network puts every place, for bands of three widths."),
    }


def over_width(table: Table, config: BumpsRun) -> Figure:
    """The band over its width beside the baseline; Fig 11; the band by depth."""
    with new_figure(19, 7.4, 1, 3, share_y=False) as (figure, [panels]):
        for axes, draw_panel in zip(panels, (_draw_band, _draw_regions, _draw_depths), strict=True):
            if widths_of(table):
                draw_panel(axes, table)
            else:
                empty_panel(axes, "not measured: any width")
        columns = getattr(config.evaluation, "columns", 0)
        put_caption(
            figure,
            "Share of prompts whose bump is right in x and y at the end of training; points: seeds, lines: their mean, "
            f"band: its 95% interval, {seeds_text(select(table, model=TRAINED)['seed'].n_unique())}. Left: prompts in "
            f"{columns} columns from edge to edge of the band. Shaded: the nearest-label baseline by the fine "
            "estimate, 2 / W; crosses: its exact score, by either. Middle: prompts at the middles of pixels, as in the "
            "paper; they are few and lie at other depths for every W. Right: the prompts on the left by how far inside "
            f"the band they lie, in bins of {BIN:g} px, fine estimate; the nearest label is right in the shaded pixel.",
        )
    return figure


def maps(table: Table) -> Figure:
    """Fig 11c: a map of places for a narrow, a middle and a wide band, one seed."""
    trained = widths_of(table)
    if not trained:
        return empty_figure("not measured: any width")
    widths = sorted({min(trained, key=lambda width: abs(width - wanted)) for wanted in PAPER})
    seed = min(select(table, model=TRAINED, width=widths[0])["seed"].to_list())
    with new_figure(5.4 * len(widths), 6.6, 1, len(widths), share_y=False) as (figure, [panels]):
        for axes, width in zip(panels, widths, strict=True):
            places = places_of(table, model=TRAINED, width=width, seed=seed)
            middle = (min(x for x, _ in places) + max(x for x, _ in places)) / 2 if places else 0.0
            draw_map(axes, places, (middle - width / 2, middle + width / 2))
            axes.set_title(f"W = {width:g}")
        put_caption(
            figure,
            "Activations of the first up block at the last step of the generation, for every second place in x and y: "
            "first two coordinates (principal ones, or UMAP's where a run says so), neighbours joined, coloured by x. "
            f"Orange: places in the band that was held out. Seed {seed}, each axis at its scale, the outermost 3% of "
            "places beyond it.",
        )
    return figure


def _draw_band(axes: Axes, table: Table) -> None:
    widths = widths_of(table)
    shade_baseline(axes, widths, expected, linestyle="--", label="2 / W")
    for how, (name, color, marker) in ESTIMATES.items():
        draw_sweep(axes, *over_widths(table, BAND, how), color, name, marker)
        mark_mean(axes, over_widths(table, BAND, how, NEAREST), color)
    ends = (mean(at_end(table, "fine.both", model=TRAINED, width=w, region=BAND)) for w in (widths[0], widths[-1]))
    axes.set_title("Where no bump was seen: {:.0%} to {:.0%}".format(*ends))
    _width_axis(axes, widths)
    axes.plot([], [], color=INK, label="nearest label", **CROSS)
    axes.legend(loc="best", handlelength=2.6)


def _draw_regions(axes: Axes, table: Table) -> None:
    axes.set_title("At pixels, by the darkest one (Fig 11)")
    for (region, (name, color)), marker in zip(REGIONS.items(), "osD", strict=True):
        draw_sweep(axes, *over_widths(table, region, "darkest"), color, name, marker)
    mark_mean(axes, over_widths(table, HELD_OUT, "darkest", NEAREST), REGIONS[HELD_OUT][1])
    _width_axis(axes, widths_of(table))
    axes.plot([], [], color=INK, label="nearest label, held out", **CROSS)
    axes.legend(loc="best", handlelength=2.6)


def _draw_depths(axes: Axes, table: Table) -> None:
    axes.set_title("By depth inside the band")
    depths, widths = levels(table, "depth"), widths_of(table)
    if not depths:
        return empty_panel(axes, "not measured: any depth")
    axes.axvspan(0, 1, color="#EEEEEE", zorder=0.5)
    for number, (width, shade) in enumerate(shades(widths).items()):
        found = at_ends(table, "fine.both", "depth", model=TRAINED, width=width)
        means = {min(end - BIN / 2, (end - BIN + width / 2) / 2): mean(values) for end, values in found.items()}
        axes.plot(
            list(means), list(means.values()), color=shade, marker=MARKERS[number % len(MARKERS)], markersize=8,
            linewidth=2.4, label=f"W = {width:g}", markeredgecolor="white",
        )  # fmt: skip
    axes.set_xlim(0, max(depths))
    axes.set_xlabel("distance from the nearest seen bump, in pixels")
    accuracy_axis(axes, "")
    axes.legend(loc="upper right", ncols=2, handlelength=1.8, columnspacing=1.2)
    return None


def _width_axis(axes: Axes, widths: list[float]) -> None:
    size_axis(axes, widths, "W, width of the band in pixels")
    axes.tick_params(axis="x", labelsize=12)
