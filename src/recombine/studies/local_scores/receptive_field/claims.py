"""How local a score must be (beyond Bradley 2026): the rules."""

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Rule, above, below, between, difference, mean, rank_correlation
from recombine.lab.table import Table, select
from recombine.studies.local_scores._shared.label_recall import (
    K_MAX,
    LEARNT,
    MANY,
    RECALLED,
    Measure,
    longest,
    means,
    more,
    of,
    with_many,
    with_one,
)

ALIKE = "labels near, patches as far"  # labels near at every noise level; patches drawn as where they reach far
ABOVE, BELOW = "labels near above", "labels near below"  # only above, or below, a noise level
FEWEST = 4  # pairs of radii that a rank correlation needs


def radii_arm(radius: int, label_radius: int) -> str:
    """How arms are called by the radii of their pixel and label receptive field: "pixels 2 labels 8"."""
    return f"pixels {radius} labels {label_radius}"


def machine_beside(arm: str) -> str:
    """The arm of the training-free model with the same receptive fields."""
    return f"machine {arm}"


def radii_of(table: Table) -> dict[str, tuple[int, int]]:
    """{arm of a network: radii of its pixel and label receptive field}, without those that change with noise."""
    columns = ("arm", "pixel_radius", "label_radius")
    rows = select(table, training_free=False).select(columns).drop_nulls().unique(maintain_order=True)
    return {arm: (pixels, labels) for arm, pixels, labels in rows.iter_rows()}


def _keeps(arm: str, other: str, bound: float) -> Rule:
    """From one arm to another K_max changes by no more than a bound."""
    return between(difference(of(K_MAX, arm), of(K_MAX, other)), -bound, bound, means(K_MAX, arm, other))


def _spares(arm: str, other: str, bound: float) -> Rule:
    """From one arm to another recall falls by less than a bound."""
    return below(difference(of(RECALLED, arm), of(RECALLED, other)), bound, means(RECALLED, arm, other))


def _labels_cost_more(bound: float, measure: Measure = K_MAX) -> Rule:
    """What a larger label receptive field costs is more than what a larger pixel receptive field costs."""
    labels, pixels = (difference(of(measure, NEAR), of(measure, other)) for other in (FAR, WIDE))
    return above(difference(labels, pixels), bound, lambda t: f"{mean(labels(t)):.2f} and {mean(pixels(t)):.2f}")


def _ranks(table: Table, singles: float = 0.0) -> dict[int, float]:
    """For each seed: rank correlation of the recall of network and machine, over networks with so much of singles."""
    pairs: dict[int, list[tuple[float, float]]] = {}
    for arm in radii_of(table):
        try:
            network, machine = with_many(table, arm), with_many(table, machine_beside(arm))
        except NotMeasured:
            continue
        if mean(with_one(table, arm)) >= singles:
            for seed in network.keys() & machine.keys():
                pairs.setdefault(seed, []).append((machine[seed], network[seed]))
    found = {seed: pairs[seed] for seed in sorted(pairs) if len(pairs[seed]) >= FEWEST}
    if not found and not singles:
        raise NotMeasured(f"no seed has networks and machines of {FEWEST} pairs of radii with {MANY} labels")
    return {seed: rank_correlation(*zip(*own, strict=True)) for seed, own in found.items()}


def _ranks_of_learnt(table: Table) -> str:
    found = _ranks(table, LEARNT)
    return f"among networks with a recall of {LEARNT:g} of single labels {mean(found):.2f}" if found else ""


NEAR, FAR, WIDE, POINT = radii_arm(2, 2), radii_arm(2, 8), radii_arm(6, 2), radii_arm(0, 0)
LOSS = "labels within 2 less within 8"

CLAIMS = (
    Claim("DS1", f"K_max falls with the label receptive field, pixels within 2 cells ({LOSS}).",
          "not in the paper (above 2)",
          more(K_MAX, NEAR, FAR, 2.0), check=True),
    Claim("DS1b", "K_max falls with the label receptive field also if both networks learn from the same patches "
          f"({LOSS}).",
          "not in the paper (above 2)",
          more(K_MAX, ALIKE, FAR, 2.0), check=True),
    Claim("DS2", "K_max hardly falls with the pixel receptive field, labels within 2 cells (pixels within 2 less "
          "within 6).",
          "not in the paper (2 at most)",
          _keeps(NEAR, WIDE, 2.0), check=True),
    Claim("DS3", "A larger label receptive field costs more than a larger pixel one (difference of the two losses of "
          "K_max).",
          "not in the paper (above 1)",
          _labels_cost_more(1.0), check=True),
    Claim("DS4", "If both receptive fields grow together from 5 x 5 to 13 x 13 cells, K_max falls (difference).",
          "k = 8 fails (above 2)",
          more(K_MAX, NEAR, radii_arm(6, 6), 2.0), check=True),
    Claim("DS4b", "A single cell is too small a receptive field (K_max at k = 2 less at k = 0).",
          "not in the paper (above 2)",
          above(difference(of(longest, NEAR), of(longest, POINT)), 2.0,
                lambda t: f"single cell: recall of single labels {mean(with_one(t, POINT)):.2f}"), check=True),
    Claim("DS5", "High noise sets the layout: labels that are near at high noise only keep K_max (difference).",
          "said, no number (2 at most)",
          _keeps(ALIKE, ABOVE, 2.0), check=True),
    Claim("DS5b", "Labels that are near at low noise only do not keep K_max (high less low).",
          "said, no number (above 2)",
          more(K_MAX, ABOVE, BELOW, 2.0), check=True),
    Claim("DS6", "The training-free model of the same receptive fields ranks networks right (rank correlation, "
          "recall with 6 labels).",
          "not in the paper (above 0.6)",
          above(_ranks, 0.6, _ranks_of_learnt), check=True),
    Claim("DS7", f"In the training-free model K_max falls with the label receptive field ({LOSS}).",
          "not in the paper (above 2)",
          more(K_MAX, machine_beside(NEAR), machine_beside(FAR), 2.0), check=True),
    Claim("DS7b", "In the training-free model K_max hardly falls with the pixel receptive field (pixels within 2 "
          "less within 6).",
          "not in the paper (2 at most)",
          _keeps(machine_beside(NEAR), machine_beside(WIDE), 2.0), check=True),
    Claim("DS8a", "With more than three labels, recall falls with the label receptive field (scale from chance 0 to "
          f"1, {LOSS}).",
          "not in the paper (above 0.1)",
          more(RECALLED, NEAR, FAR, 0.1), check=True),
    Claim("DS8b", "With more than three labels, recall hardly falls with the pixel receptive field (pixels within 2 "
          "less within 6).",
          "not in the paper (less than 0.1)",
          _spares(NEAR, WIDE, 0.1), check=True),
    Claim("DS8c", "With more than three labels, a larger label receptive field costs more recall than a larger "
          "pixel one (difference of the two losses).",
          "not in the paper (above 0)",
          _labels_cost_more(0.0, RECALLED), check=True),
    Claim("DS8d", "Labels that are near at high noise only keep recall with more than three labels (difference).",
          "said, no number (less than 0.1)",
          _spares(ALIKE, ABOVE, 0.1), check=True),
    Claim("DS8e", "Labels that are near at low noise only do not keep recall with more than three labels (high less "
          "low).",
          "said, no number (above 0.1)",
          more(RECALLED, ABOVE, BELOW, 0.1), check=True),
)  # fmt: skip
