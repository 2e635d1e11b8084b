"""Bumps put where none was seen, from stripes and few bumps (Liang et al. 2024, Fig 4g): the rules."""

from recombine.lab.claims import Claim
from recombine.lab.rules import Measure, above, average, between, difference, final, fixed, lowest_of, mean, ratio
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

HELD = (VERTICAL, HORIZONTAL, INTERSECTION)
LEAST = 0.2  # of the bumps
SETS = {"stripes-100": (True, 1.0), "stripes-20": (True, LEAST), "bumps-100": (False, 1.0)}
"""{arm: whether lone stripes were seen, and which share of the bumps}."""


def held_out(stripes: bool, share: float, how: str = "darkest", what: str = "both", model: str = TRAINED) -> Measure:
    """How often x and y are right at the end of training, the mean over the three held-out regions.

    `what` is "both", or "bump" if a bump must be there too.
    """
    regions = (final(f"{how}.{what}", stripes=stripes, share=share, model=model, region=region) for region in HELD)
    return average(*regions)


def baseline(stripes: bool) -> Measure:
    """The same of the nearest-label baseline; few bumps lie as near to what is asked as all of them."""
    return fixed(held_out(stripes, 1.0, model=NEAREST), "the nearest-label baseline was not computed")


SEEN_RIGHT = {
    arm: final("darkest.both", stripes=stripes, share=share, model=TRAINED, region=SEEN)
    for arm, (stripes, share) in SETS.items()
}
BUMPS_OF_RIGHT = {share: ratio(held_out(True, share, what="bump"), held_out(True, share)) for share in (1.0, LEAST)}
ALL, FEW, ALONE, NULL = held_out(True, 1.0), held_out(True, LEAST), held_out(False, 1.0), baseline(True)

CLAIMS = (
    Claim("CB0", "bumps that were seen are drawn where they were asked for (accuracy of the arm where it is least)",
          "not asked (above 0.9); without it the others say little", above(lowest_of(SEEN_RIGHT), 0.9), check=True),
    Claim("CB1", "with stripes, bumps are right where none was seen (mean over two arms of the cross and where they "
          "meet)", "up to 70% (0.55 to 0.85)",
          between(ALL, 0.55, 0.85, lambda table: f"fine {mean(held_out(True, 1.0, 'fine')(table)):.2f}")),
    Claim("CB1n", "that is more often than for its nearest-label baseline (difference)", "not asked (above 0)",
          above(difference(ALL, NULL), 0.0, lambda table: f"baseline {mean(NULL(table)):.3f}"), check=True),
    Claim("CB1b", "what is right there is a bump, not two stripes that cross (share of it, where least)",
          "not asked (above 0.9); without it CB1 counts crossings as bumps", above(lowest_of(BUMPS_OF_RIGHT), 0.9),
          check=True),
    Claim("CB2", f"{LEAST:.0%} of the bumps do as well as all of them (difference)", "similar (above -0.1)",
          above(difference(FEW, ALL), -0.1)),
    Claim("CB2n", f"and {LEAST:.0%} of the bumps are more often right than the nearest-label baseline (difference)",
          "not asked (above 0)", above(difference(FEW, NULL), 0.0), check=True),
    Claim("CB3", "stripes help: without them fewer are right where none was seen (difference)", "below (above 0)",
          above(difference(ALL, ALONE), 0.0)),
)  # fmt: skip
