"""Learning from a share lambda of a lattice of bumps (Liang et al. 2024, Figs 6e, 14c and 15): the claims.

The nearest-label baseline scores lambda, as any other label of the lattice is a pixel away: it has all trained labels
right and no other. So labels that were not trained on are judged by themselves.
"""

import math
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from recombine.instruments.bumps.evaluation import ALL
from recombine.instruments.bumps.label_losses import LOSS
from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.instruments.representations.learned_maps import NEIGHBOURS, MapSettings
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import (
    BySeed,
    Rule,
    above,
    above_where_least,
    combined,
    correlation,
    least,
    less,
    mean,
    most,
    rank_correlation,
)
from recombine.lab.table import Table, at_ends, select
from recombine.studies.bumps.percolation_theory.claims import critical_shares
from recombine.theory.percolation.lattice import Critical, critical

THEORY = "theory"
BLOCK, UNTRAINED, PIXELS = (
    {"block": MapSettings().block, "trained": True},
    {"block": MapSettings().block, "trained": False},
    {"block": "pixels"},
)
THRESHOLDS = (0.005, 0.05)  # of the overlap: the paper's choice for Fig 6c, and that of Fig 14b
NARROWEST = 0.1
WIDE = 0.5  # from this width on the paper has accuracy above the line
FIRST = 0.1  # the lambda from which on that is asked
MUCH = 0.8  # the lambda from which on the narrowest bumps are learnt
MARGIN = 0.01
NOT_TRAINED = f"sigma = {NARROWEST:g} was not trained on such a share"
AT_WIDTH = "least at sigma = {:g}"
NO_WHOLE = "no width was trained on the whole lattice"
NO_PART = f"no width from {WIDE:g} on was trained on a part of the lattice"
NEAREST_HAS = "the nearest-label baseline has 0"

CELL = ("width", "share")
Cell = tuple[float, float]
"""Width sigma of the bumps, and share lambda of the lattice that was trained on."""
Lines = dict[float, dict[float, BySeed]]
"""{width: {share: one value a seed}}, ascending."""


def lines(cells: Mapping[Cell, BySeed]) -> Lines:
    """The same, a line over lambda for every width."""
    found: Lines = {}
    for (width, lam), values in cells.items():
        found.setdefault(width, {})[lam] = values
    return found


def accuracies(table: Table) -> Mapping[Cell, BySeed]:
    """The share of all labels whose sample is right in x and y."""
    return at_ends(table, "darkest.both", *CELL, region=ALL)


def untrained_labels(table: Table) -> Lines:
    """The share of the labels not trained on that are right."""
    return lines(at_ends(table, "darkest.both", *CELL, region=NEW))


def half_learnt(table: Table) -> dict[float, dict[int, Critical]]:
    """{width: {seed: the lambda from which on half of the labels not trained on are right}}"""
    return {
        width: combined(line.values(), partial(critical, list(line))) for width, line in untrained_labels(table).items()
    }


def early_accuracies(table: Table) -> tuple[int, Lines]:
    """The images seen at the first evaluation of training, and the accuracy there."""
    counts = table["images_seen"].drop_nulls().unique().to_list()
    first = min((count for count in counts if count), default=0)
    return first, lines(at_ends(select(table, images_seen=first), "darkest.both", *CELL, region=ALL))


def place_ratios(table: Table, threshold: float) -> dict[int, dict[float, float]]:
    """{seed: {width: lambda at which half is learnt, over the critical one}}, where the first can be read; a critical
    lambda that is never reached is taken for 1.
    """
    theory = critical_shares(table, THEORY)
    found: dict[int, dict[float, float]] = {}
    for width, own in half_learnt(table).items():
        for seed, expected in theory.get((width, threshold), {}).items():
            if seed in own and own[seed].outcome == "crosses" and expected > 0:
                found.setdefault(seed, {})[width] = own[seed].value / min(expected, 1.0)
    return found


def whole_lattice(table: Table) -> dict[Any, BySeed]:
    """Accuracy when trained on the whole lattice, by width."""
    return {width: values for (width, lam), values in accuracies(table).items() if lam == 1}


def wider_is_better(table: Table) -> Judgement:
    """What the next wider bump gains, the mean over lambda below 1, at the step of width where that is least."""
    found = lines(accuracies(table))
    shared = sorted(set.intersection(*map(set, found.values())) - {1.0}) if found else []
    means = {width: combined((line[lam] for lam in shared), mean_of) for width, line in found.items()}
    if len(means) < 2 or not all(means.values()):
        raise NotMeasured("two widths with the same lambdas and seeds are needed")
    steps = {f"{narrow:g} to {wide:g}": less(means[wide], means[narrow]) for narrow, wide in pairwise(means)}
    every = ", ".join(f"{width:g}: {mean(values):.2f}" for width, values in means.items())
    step = least(steps)
    return judge_above(list(steps[step].values()), 0.0, f"from {step}; accuracy over lambda {every}")


def above_the_line(table: Table) -> dict[Any, BySeed]:
    """Accuracy less lambda for each width from 0.5 on and each lambda."""
    return {
        f"{width:g}, lambda = {lam:g}": {seed: value - lam for seed, value in values.items()}
        for (width, lam), values in accuracies(table).items()
        if width >= WIDE and FIRST <= lam < 1
    }


def narrow_needs_much(table: Table) -> Judgement:
    """Of the narrowest bumps, the share of labels not trained on that are right below lambda 0.8, where it is most."""
    found = {lam: values for lam, values in untrained_labels(table).get(NARROWEST, {}).items() if lam < MUCH}
    lam = most(found, NOT_TRAINED)
    return judge_below(list(found[lam].values()), 0.5, f"most at lambda = {lam:g}; {NEAREST_HAS}")


def much_is_enough(table: Table) -> dict[Any, BySeed]:
    """And for each lambda from 0.8 on."""
    found = untrained_labels(table).get(NARROWEST, {})
    return {lam: values for lam, values in found.items() if lam >= MUCH}


def order_correlation(table: Table) -> BySeed:
    """The rank correlation over widths of the lambda at which half is learnt with the critical one of theory."""
    learnt, theory = half_learnt(table), critical_shares(table, THEORY)
    found = {}
    for seed in {seed for own in theory.values() for seed in own}:
        widths = [width for width, own in learnt.items() if seed in own]
        expected = [min(theory.get((width, THRESHOLDS[0]), {}).get(seed, math.nan), 2.0) for width in widths]
        if len(set(expected)) > 1 and not any(map(math.isnan, expected)):
            found[seed] = rank_correlation([_rank(learnt[width][seed]) for width in widths], expected)
    return found


def follows_in_place(threshold: float) -> Rule:
    """Factors of two between the lambda at which half is learnt and the critical one, at the worst width. Where the
    set never hangs together the critical lambda counts as 1, the least that it can be.
    """

    def judge(table: Table) -> Judgement:
        ratios = place_ratios(table, threshold)
        worst = {seed: max(abs(math.log2(ratio)) for ratio in own.values()) for seed, own in ratios.items()}
        if not worst:
            raise NotMeasured("no width has both lambdas within what was tried")
        widths = sorted({width for own in ratios.values() for width in own})
        shown = ", ".join(f"{w:g}: {np.median([own[w] for own in ratios.values() if w in own]):.2g}" for w in widths)
        return judge_below(list(worst.values()), 1.0, f"learnt / critical, which is 1 where it never is: {shown}")

    return judge


def losses(table: Table, labels: str) -> Lines:
    """The loss at the end of "known" or "new" labels."""
    return lines(at_ends(table, LOSS, *CELL, region=labels))


def neighbour_shares(table: Table, of: dict[str, Any] = BLOCK) -> Mapping[Cell, BySeed]:
    """The share of neighbours in the trained block, the untrained one or pixels."""
    return at_ends(table, NEIGHBOURS, *CELL, **of)


def grows_linearly(labels: str) -> Rule:
    """The correlation of loss with lambda, at the width where it is least."""

    def found(table: Table) -> dict[float, BySeed]:
        own = {width: line for width, line in losses(table, labels).items() if len(line) > 2}
        return {width: combined(line.values(), partial(correlation, list(line))) for width, line in own.items()}

    def every(table: Table) -> str:
        return "; " + ", ".join(f"{width:g}: {mean(values):.2f}" for width, values in found(table).items())

    return above_where_least(found, 0.9, AT_WIDTH, "three lambdas of a width are needed", every)


def more_rigid(across: int) -> Rule:
    """The share of neighbours at the most data less that at the least, mean over widths; or of widths alike."""

    def judge(table: Table) -> Judgement:
        cells = neighbour_shares(table)
        ends = sorted({cell[across] for cell in cells})
        other = sorted({cell[1 - across] for cell in cells})
        pairs = [tuple((end, rest) if across == 0 else (rest, end) for end in (ends[0], ends[-1])) for rest in other]
        whole = [(low, high) for low, high in pairs if low in cells and high in cells]
        if len(ends) < 2 or not whole:
            raise NotMeasured("maps at two ends are needed")
        gain = combined((less(cells[high], cells[low]) for low, high in whole), mean_of)
        lows, highs = (np.mean([mean(cells[pair[i]]) for pair in whole]) for i in (0, 1))
        return judge_above(list(gain.values()), 0.0, f"{lows:.2f} at {ends[0]:g}, {highs:.2f} at {ends[-1]:g}")

    return judge


def beyond_untrained(table: Table) -> dict[float, BySeed]:
    """{width: the share of neighbours less that of the untrained block}, trained on the whole lattice."""
    cells, fresh = neighbour_shares(table), neighbour_shares(table, UNTRAINED)
    return {
        width: less(values, fresh[width, lam])
        for (width, lam), values in cells.items()
        if lam == 1 and fresh.get((width, lam), {}).keys() & values.keys()
    }


def shares_beside(table: Table) -> str:
    """The share of neighbours of each width in the block, the untrained one and pixels, in words."""
    cells, fresh, pixels = (neighbour_shares(table, of) for of in (BLOCK, UNTRAINED, PIXELS))
    each = ", ".join(
        f"{w:g}: {mean(cells[w, 1.0]):.2f} ({mean(fresh[w, 1.0]):.2f}, {mean(pixels.get((w, 1.0), {})):.2f})"
        for w in beyond_untrained(table)
    )
    return f"; block (untrained, pixels): {each}"


def mean_of(values: list[float]) -> float:
    """Their mean."""
    return float(np.mean(values))


def _rank(found: Critical) -> float:
    """Where it stands in an order: what is never learnt last, what is learnt from the first lambda on first."""
    return {"crosses": found.value, "never": 2.0, "below": 0.0}[found.outcome]


NO_NUMBER = "Fig 6e, no number in the text"
CLAIMS = (
    Claim("PC0", "Every width is learnt when trained on the whole lattice (accuracy where it is least)",
          "not asked (above 0.9); without it the others say little",
          above_where_least(whole_lattice, 0.9, AT_WIDTH, NO_WHOLE), check=True),
    Claim("PC1", "At the same lambda wider bumps are learnt better (gain of the next width, mean over lambda, least)",
          "Fig 6e: ordered in sigma (above 0)", wider_is_better),
    Claim("PC2", "From sigma = 0.5 on accuracy is above lambda, the score of the nearest-label baseline (difference "
          "where least)", f"{NO_NUMBER} (above 0.01)",
          above_where_least(above_the_line, MARGIN, "least at sigma = {}", NO_PART)),
    Claim("PC3", "Bumps of sigma = 0.1 are not learnt below lambda = 0.8 (share of labels not trained on that are "
          "right, where most are)", "learnt at 0.8 to 0.9 only (below 0.5)", narrow_needs_much),
    Claim("PC3b", "They are learnt from lambda = 0.8 on (share of labels not trained on that are right, where fewest "
          "are)", "learnt at 0.8 to 0.9 (above 0.5); the nearest-label baseline has 0.8 to 0.9 of all labels right and "
          "none of these",
          above_where_least(much_is_enough, 0.5, "least at lambda = {:g}", NOT_TRAINED, f"; {NEAREST_HAS}")),
    Claim("PC4", "The lambda at which half of the labels not trained on are right is ordered as the critical lambda of "
          "percolation (rank correlation over widths)", "learning follows percolation (above 0.8)",
          above(order_correlation, 0.8, "any order in sigma would do: theory has the same one at every threshold")),
    *(Claim(f"PC5-{threshold:g}", f"It is within a factor of two of the critical lambda at threshold {threshold:g} "
            "(log2 of their ratio, at the worst width)", "the threshold was chosen to fit (below 1)",
            follows_in_place(threshold))
      for threshold in THRESHOLDS),
    Claim("PC6", "The loss of trained labels grows linearly with lambda (correlation, at the width where it is least)",
          "Fig 14c: linearly (above 0.9)", grows_linearly(KNOWN)),
    Claim("PC6v", "The loss of labels not trained on grows linearly with lambda (correlation, at the width where it is "
          "least)", "Fig 14c: linearly (above 0.9)", grows_linearly(NEW)),
    Claim("PC7", "With more data the block's map is more of a sheet (share of neighbours, largest lambda less "
          "smallest, mean over widths)", "Fig 15: less rigid with fewer data points (above 0)", more_rigid(1)),
    Claim("PC7s", "With wider bumps it is more of a sheet (share of neighbours, widest less narrowest, mean over "
          "lambda)", "Fig 15: less rigid with smaller sigma (above 0)", more_rigid(0)),
    Claim("PC7n", "Trained on the whole lattice it is more of a sheet than in the untrained block (difference at the "
          "width where it is least)", "not asked: labels enter every block, so an untrained one has a map too "
          "(above 0)", above_where_least(beyond_untrained, 0.0, AT_WIDTH, NO_WHOLE, shares_beside), check=True),
)  # fmt: skip
