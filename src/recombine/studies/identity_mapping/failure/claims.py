"""The claims of the failure that is none (Yang et al. 2025, Fig 10)."""

from typing import Any

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, verdict_above
from recombine.lab.shares import Share, all_of, as_before, judge_median, rises
from recombine.lab.table import Table
from recombine.studies.identity_mapping._shared.starts import count, values

PLOTTED = 100.0
LONG = 400  # the scripts' time after which nothing is left to wait for
LARGE, SMALL = 0.01, 0.001  # Euler's steps


def settled(table: Table, instrument: str, arm: str, **where: Any) -> int:
    """A number of starts, if they were followed long enough to say."""
    if (followed := count(table, "followed", arm=arm)) < LONG:
        raise NotMeasured(f"followed to t = {followed}: whether a start recovers is known by {LONG}")
    return count(table, instrument, arm=arm, **where)


def flown(instrument: str, arm: str) -> Share:
    """How many starts of the exact flow."""
    return lambda table: (settled(table, instrument, arm, way="flow"), settled(table, "starts", arm, way="flow"))


def failed(arm: str, eta: float) -> Share:
    """How many Euler runs of this step have not learned the weakest concept in the end."""
    return lambda table: (
        settled(table, "failed", arm, eta=eta, at="end"),
        settled(table, "starts", arm, way="euler", eta=eta),
    )


def coincide(arm: str) -> Share:
    """In how many Euler runs failing in the end and losing semidefiniteness come together, or neither does."""

    def share(table: Table) -> tuple[int, int]:
        kinds = [(eta, name) for eta in (LARGE, SMALL) for name in ("both", "neither")]
        same = sum(settled(table, name, arm, eta=eta, at="end") for eta, name in kinds)
        return same, sum(failed(arm, eta)(table)[1] for eta in (LARGE, SMALL))

    return share


def _coincidences(table: Table, arm: str) -> str:
    said = []
    for eta in (LARGE, SMALL):
        bad, lost, both = (settled(table, name, arm, eta=eta, at="end") for name in ("failed", "lost", "both"))
        said.append(f"step {eta}: {bad} of {failed(arm, eta)(table)[1]} fail, {lost} are lost, {both} both")
    return "; ".join(said)


def _late(table: Table, arm: str) -> str:
    return f"{settled(table, 'late', arm, way='flow')} of them after t = 100"


def _of_both_steps(table: Table, arm: str) -> str:
    return ", ".join("{} of {} at {}".format(*failed(arm, eta)(table), eta) for eta in (LARGE, SMALL))


def escape(table: Table) -> Judgement:
    """The median time of escape with A^2, against the end of the paper's figure."""
    settled(table, "recovered", "A2", way="flow")
    times = values(table, "escape", arm="A2")
    if not len(times):
        raise NotMeasured("no start escaped")
    low, high = np.quantile(times, [0.05, 0.95])
    note = f"nine in ten from {low:.0f} to {high:.0f}"
    return judge_median(times, lambda interval, n: verdict_above(interval, PLOTTED, n), note)


CLAIMS = (
    Claim("S12", "Followed past the end of the figure, every start of the flow recovers (share of starts, A^2).",
          "paper shows one start that fails; earlier replication of ours: 60 of 60 recover",
          all_of(flown("recovered", "A2"), lambda t: _late(t, "A2")),
          check=True),
    Claim("S12b", "Followed past the end of the figure, every start of the flow recovers (share of starts, A).",
          "earlier replication of ours: 60 of 60 recover",
          all_of(flown("recovered", "A"), lambda t: _late(t, "A")), check=True),
    Claim("S12c", "Most starts have not escaped where the figure ends (share of starts, A^2).",
          "paper shows one start; earlier replication of ours: 57 of 60",
          as_before(flown("late", "A2"), (57, 60))),
    Claim("S12d", "The typical escape comes after the end of the figure (median time, A^2).",
          "earlier replication of ours: 118 to 121 (above 100)",
          escape, check=True),
    Claim("S12e", "An Euler run fails for good if and only if W stops being semidefinite (share of runs, A^2).",
          "not in the paper (all)",
          all_of(coincide("A2"), lambda t: _coincidences(t, "A2")), check=True),
    Claim("S12f", "An Euler run fails for good if and only if W stops being semidefinite (share of runs, A).",
          "not in the paper (all)",
          all_of(coincide("A"), lambda t: _coincidences(t, "A")),
          check=True),
    Claim("S12g", "Fewer Euler runs fail with a tenth of the step (difference of shares, A^2).",
          "not in the paper (above 0)",
          rises(failed("A2", SMALL), failed("A2", LARGE), lambda t: _of_both_steps(t, "A2")), check=True),
    Claim("S12h", "Fewer Euler runs fail with a tenth of the step (difference of shares, A).",
          "not in the paper (above 0)",
          rises(failed("A", SMALL), failed("A", LARGE), lambda t: _of_both_steps(t, "A")), check=True),
    Claim("S12i", "Euler runs fail as often as in an earlier replication (share of runs, A^2).",
          "earlier replication of ours: 47 of 60",
          as_before(failed("A2", LARGE), (47, 60)), check=True),
    Claim("S12j", "Euler runs fail as often as in an earlier replication (share of runs, A).",
          "earlier replication of ours: 29 of 60",
          as_before(failed("A", LARGE), (29, 60)), check=True),
)  # fmt: skip
