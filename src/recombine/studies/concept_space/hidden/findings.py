"""Which strength of prompt is best early and late, what random colours gain, and what each steering gain gives."""

from recombine.lab.rules import mean
from recombine.lab.table import Table, select
from recombine.studies.concept_space.hidden.claims import WEAK, gain

EARLY = 16_000  # images seen, about where over-prompting first works


def numbers(table: Table) -> dict[str, float | str]:
    """Of colours 0.2 apart, by strength: the best at two moments, and the mean over training of each steering gain."""
    over = _means(table, "over", "images_seen", "strength")
    early = min(over["images_seen"], key=lambda seen: abs(seen - EARLY))
    first, last = (select(over, images_seen=seen) for seen in (early, over["images_seen"].max()))
    gains = _means(table, "steer", "strength").iter_rows()
    return {
        "early": float(early),
        "best_early": first.sort("value")["strength"][-1],
        "best_late": last.sort("value")["strength"][-1],
        "random_gain": mean(gain("over-random", "plain")(table)),
        "steer_by_gain": ", ".join(f"{value:.2f} (gain {strength:g})" for strength, value in gains),
    }


def _means(table: Table, way: str, *by: str) -> Table:
    """Accuracy of a way of asking, the mean over seeds, halves of the samples and whatever else is not named."""
    rows = select(table, "prompted.product", way=way, color_separation=WEAK)
    return rows.select(*by, "value").group_by(*by).mean().sort(*by)
