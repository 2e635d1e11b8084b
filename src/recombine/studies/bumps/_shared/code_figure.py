"""How far apart labels are for the network, in each code."""

from collections.abc import Iterable

from matplotlib.axes import Axes

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.runs.bump_codes import code_distances, with_code
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.codes import COLORS, DASHES, NAMES


def draw_codes(axes: Axes, config: BumpsRun, codes: Iterable[str], farthest: float) -> None:
    """The distance between the codes of two labels, as a share of that `farthest` px apart."""
    axes.set_title("How far apart two labels are")
    for code in codes:
        away, distance = code_distances(with_code(config, code), farthest)
        axes.plot(away, distance, color=COLORS[code], linewidth=3, linestyle=DASHES[code], label=NAMES[code])
    axes.set(xlim=(0, farthest), xlabel="distance of two labels in x, in pixels")
    accuracy_axis(axes, "distance of their codes")
