"""What denoisers that were not trained compose: the rules."""

from recombine.lab.claims import Claim
from recombine.lab.rules import Measure, above, average, below, between, final
from recombine.studies.bumps.crossing.compose.claims import BOTH, HELD_COORDINATE, right
from recombine.worlds.holdouts import INTERSECTION

NEAREST, WIDE, ADDED, LOCAL, BY_NUMBER = MODELS = (
    "nearest label", "wide kernel", "added scores", "local scores", "local scores by number",
)  # fmt: skip
FOUND = 2 / 6  # what the nearest label scores in six held-out ones


def both(model: str, how: str = "darkest") -> Measure:
    """Both right where the arms of the cross meet, of a model of 2D+1D."""
    return right(average, BOTH, "2D+1D", how, model)


CLAIMS = (
    Claim("E1", "the nearest-label baseline of 2D shows the pattern read as composing without interpolating (held-out "
          "coordinate)", "2 of 6 labels (0.333)",
          between(right(average, HELD_COORDINATE, "2D", model=NEAREST), FOUND - 0.01, FOUND + 0.01), check=True),
    Claim("E2", "the nearest-label baseline of 2D+1D does not compose (both right where the arms meet)",
          "4 of 36 labels (below 0.2)", below(both(NEAREST), 0.2), check=True),
    Claim("E3", "nor do added scores of 2D+1D (both right where the arms meet)", "not asked (below 0.2)",
          below(both(ADDED), 0.2), check=True),
    Claim("E4", "local scores matched by the whole label do not compose (both stripes where the arms meet)",
          "not asked (below 0.2)", below(both(LOCAL, "fine"), 0.2), check=True),
    Claim("E5", "local scores matched by either number put both stripes right (both stripes where the arms meet)",
          "not asked (above 0.8)", above(both(BY_NUMBER, "fine"), 0.8), check=True),
    Claim("E6", "but leave their crossing grey (darkness there; 0.5 is one stripe, 1 a crossing)",
          "not asked (below 0.75)",
          below(final("dark.asked", data="2D+1D", model=BY_NUMBER, region=INTERSECTION), 0.75), check=True),
)  # fmt: skip
