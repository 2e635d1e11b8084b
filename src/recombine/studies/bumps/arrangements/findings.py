"""Numbers of the findings that no claim holds."""

from recombine.lab.rules import mean
from recombine.lab.table import Table
from recombine.studies.bumps.arrangements.claims import ARMS, CLOSE, accuracy


def numbers(table: Table) -> dict[str, float | str]:
    """The share right of what was not trained on, by both estimates."""
    found: dict[str, float | str] = {"close": CLOSE}
    for arm in ARMS:
        found |= {f"acc_{arm}": mean(accuracy(table, arm)), f"dark_{arm}": mean(accuracy(table, arm, "darkest"))}
    return found
