"""The claims of the stages (Yang et al. 2025, Figs 5, 17, 18 and Sec. 4)."""

import numpy as np

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import between
from recombine.lab.shares import Share, all_of, share_above
from recombine.lab.table import Table
from recombine.studies.identity_mapping._shared.starts import per_start, those, values

EXACT = 1e-10
MOST = 0.95  # of all starts: what "the stages come in this order" has to mean
STAGES = ("first major", "minor suppressed", "second major")


def factors(table: Table) -> dict[int, float]:
    """What G - S - N has to be multiplied with to be W', for each start of both arms."""
    if not len(found := values(table, "factor")):
        raise NotMeasured("no factor")
    return dict(enumerate(found.tolist()))


def in_order(arm: str) -> Share:
    """In how many starts the first major comes before its minor's fall, and that before the second major."""

    def share(table: Table) -> tuple[int, int]:
        first, fallen, second = (per_start(table, "stage", arm=arm, stage=stage) for stage in STAGES)
        if not len(first):
            raise NotMeasured(f"no stages in arm {arm}")
        return int(((first < fallen) & (fallen < second)).sum()), len(first)  # NaN, never reached, is in no order

    return share


def _medians(table: Table, arm: str) -> str:
    found = ", ".join(f"{np.median(per_start(table, 'stage', arm=arm, stage=stage)):.2f}" for stage in STAGES)
    return f"median times {found}"


CLAIMS = (
    Claim("S4", "By automatic differentiation W' = 2 (G - S - N) (share of starts).",
          "not in the paper (all, to 1e-10)",
          all_of(those("error", lambda error: error <= EXACT),
                 lambda table: f"largest error {values(table, 'error').max():.1e}"), check=True),
    Claim("S4b", "W' = G - S - N, as the paper prints it (factor between both sides).",
          "1",
          between(
        factors, 0.99, 1.01, lambda table: f"{values(table, 'factor').min():.6f} to {values(table, 'factor').max():.6f}"
    )),
    Claim("S5a", "The stronger concept is learned, then its minor falls, then the weaker concept is learned (share "
          "of starts, A).",
          "always; paper shows one start (above 0.95)",
          share_above(in_order("A"), MOST, lambda table: _medians(table, "A"))),
    Claim("S5b", "With the scripts' squared moments A^2 the stronger concept is learned, then its minor falls, then "
          "the weaker concept is learned (share of starts).",
          "always; paper shows one start (above 0.95)",
          share_above(in_order("A2"), MOST, lambda table: _medians(table, "A2"))),
)  # fmt: skip
