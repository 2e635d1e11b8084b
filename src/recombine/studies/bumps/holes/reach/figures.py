"""The figure of codes and how far they reach."""

from matplotlib.axes import Axes

from recombine.instruments.bumps.band_evaluation import BAND, BIN
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis, one_legend
from recombine.lab.report.kit.bars import accuracy_bars
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import empty_panel, put_caption, seeds_text
from recombine.lab.rules import BySeed, mean
from recombine.lab.sweeps import levels
from recombine.lab.table import Table, at_end, at_ends, select
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.code_figure import draw_codes
from recombine.studies.bumps._shared.codes import COLORS, DASHES, NAMES
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.studies.bumps.holes.reach.claims import CODES, GROUPS, SHARE, WIDE, WIDTHS

FARTHEST = 12.0  # px between labels, on a canvas that has room for them


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Distances in each code; the wide band by depth; all that was never seen."""
    groups = [*(f"band of {width:g} px" for width in WIDTHS), f"{SHARE:g} of the lattice"]
    nulls: list[BySeed] = [
        *(at_end(table, "fine.both", model=NEAREST, width=width, region=BAND) for width in WIDTHS), {0: 0.0},
    ]  # fmt: skip
    bars = {
        name: {NAMES[code]: (found[code](table), null) for code in CODES}
        for name, (_, found), null in zip(groups, GROUPS.values(), nulls, strict=True)
    }
    with new_figure(19, 7.2, 1, 3, share_y=False) as (figure, [[codes, depths, never]]):
        farthest = min(FARTHEST, config.world.extent / 2)
        draw_codes(codes, config, CODES, farthest)
        _draw_depths(depths, table)
        accuracy_bars(never, bars, {NAMES[code]: COLORS[code] for code in CODES})
        never.set_title("What was never seen")
        one_legend(figure, never)
        put_caption(
            figure,
            f"Left: distance between the codes of two labels, as a share of that {farthest:g} px apart. Middle: the "
            f"band of {WIDE:g} px by how far inside bumps were asked for, bins of {BIN:g} px, fine estimate, mean over "
            "seeds; the nearest label is right in the shaded pixel. Right: what is right of all that was never seen, "
            "at the end of training: bands by the fine estimate, the lattice by the darkest pixel; dots: "
            f"{seeds_text(select(table, model=TRAINED)['seed'].n_unique())}.",
        )
    caption = (
        "How far apart labels are in each code, how far inside a band bumps are right with it, and what is right of "
        "all that was never seen."
    )
    return {"figure": Drawing(figure, caption)}


def _draw_depths(axes: Axes, table: Table) -> None:
    axes.set_title(f"Inside a band of {WIDE:g} px")
    depths = levels(table, "depth")
    if not depths:
        return empty_panel(axes, "not measured: any depth")
    axes.axvspan(0, 1, color="#EEEEEE", zorder=0.5)
    for code in CODES:
        found = at_ends(table, "fine.both", "depth", model=TRAINED, code=code, width=WIDE)
        means = {end - BIN / 2: mean(values) for end, values in found.items()}
        axes.plot(
            list(means), list(means.values()), color=COLORS[code], linestyle=DASHES[code], marker="o", linewidth=3,
            markersize=8, markeredgecolor="white",
        )  # fmt: skip
    axes.set_xlim(0, WIDE / 2)
    axes.set_xlabel("distance from the nearest seen bump, in pixels")
    accuracy_axis(axes)
    return None
