"""What more time teaches (beyond Liang et al. 2024): the rules, with the bounds of `compose`."""

from recombine.lab.claims import Claim
from recombine.studies.bumps.crossing.compose.claims import (
    BOTH,
    HELD_COORDINATE,
    beyond_baseline,
    highest,
    rim_is_enough,
)

CLAIMS = (
    Claim("LG1", "2D: in the arms of the cross the coordinate that was held out stays wrong (the higher of two)",
          "wrong (below 0.45)", highest("2D", HELD_COORDINATE, 0.45), check=True),
    Claim("LG2", "2D: and so do crossings where the arms meet", "low (below 0.2)", highest("2D", BOTH, 0.2),
          check=True),
    Claim("LG3", "1D: where the arms cross, both are not right together", "low (below 0.15)", highest("1D", BOTH, 0.15),
          check=True),
    Claim("LG3n",
          "1D: where the arms cross, both are right more often than for the nearest-label baseline (difference)",
          "not asked (above 0)", beyond_baseline("1D", BOTH), check=True),
    Claim("LG4", "1D with the rim is as good as 2D+1D on crossings never seen (difference)",
          "at least as good (above -0.1)", rim_is_enough(), check=True),
)  # fmt: skip
