"""The figure of bumps composed from stripes and few bumps (Liang et al. 2024, Fig 4g)."""

from typing import Any

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.bars import accuracy_bars
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import put_caption
from recombine.lab.rules import BySeed, mean
from recombine.lab.table import Curve, Table, at_end, mean_curves, select
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.studies.bumps.crossing.compose_bumps.claims import HELD, SETS, held_out
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

REGIONS = {SEEN: "seen", VERTICAL: "vertical\narm", HORIZONTAL: "horizontal\narm", INTERSECTION: "where\nthey cross"}
COLORS = ("#0072B2", "#56B4E9", "#D55E00")


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Accuracy by region for each training set, and over training where none was seen."""
    colors = dict(zip(map(_name, SETS), COLORS, strict=True))
    with new_figure(15.5, 7, 1, 2, share_y=False, width_ratios=(1.25, 1)) as (figure, [[bars, over]]):
        accuracy_bars(bars, {name: _found(table, region) for region, name in REGIONS.items()}, colors)
        bars.set_title("Bumps that are where they were asked for")
        found = mean(held_out(True, 1.0)(table))
        over.set_title(f"Where none was seen: {found:.0%} with stripes")
        curves = {_name(arm): _curves(table, arm) for arm in SETS}
        draw_series(over, curves, colors=COLORS, place=None)
        for stripes, dashes in ((True, "-"), (False, ":")):
            for level in list(held_out(stripes, 1.0, model=NEAREST)(table).values())[:1]:
                over.axhline(level, color="black", linewidth=2, linestyle=dashes, zorder=1.5)
        one_legend(figure, bars)
        put_caption(
            figure,
            "Left: share of labels whose sample is right in x and y, by the darkest pixel, at the end of training; "
            "dots: seeds. Right: mean over the three regions without a bump. Black: the nearest-label baseline of the "
            "same kind of set, on the right dotted without stripes.",
            band_caption(select(table, model=TRAINED)["seed"].n_unique()),
        )
    caption = "Where bumps are right, by region and over training, for each training set."
    return {"figure": Drawing(figure, caption)}


def _found(table: Table, region: str) -> dict[str, tuple[BySeed, BySeed]]:
    def ends(stripes: bool, share: float, model: str) -> BySeed:
        return at_end(table, "darkest.both", stripes=stripes, share=share, model=model, region=region)

    return {
        _name(arm): (ends(stripes, share, TRAINED), ends(stripes, 1.0, NEAREST))
        for arm, (stripes, share) in SETS.items()
    }


def _curves(table: Table, arm: str) -> list[Curve]:
    stripes, share = SETS[arm]
    where: dict[str, Any] = {"stripes": stripes, "share": share, "model": TRAINED, "region": HELD}
    return list(mean_curves(table, "darkest.both", "region", **where).values())


def _name(arm: str) -> str:
    stripes, share = SETS[arm]
    return f"stripes + {share:.0%} of the bumps" if stripes else f"{share:.0%} of the bumps alone"
