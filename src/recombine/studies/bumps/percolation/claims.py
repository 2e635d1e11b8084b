"""Learning from a share lambda of a lattice of bumps (Liang et al. 2024, Figs 6e, 14c and 15): the claims.

The nearest-label baseline scores lambda, as any other label of the lattice is a pixel away: it has all trained labels
right and no other. So labels that were not trained on are judged by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from recombine.instruments.bumps.evaluation import ALL
from recombine.instruments.bumps.label_losses import LOSS
from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.instruments.representations.learned_maps import NEIGHBOURS, MapSettings
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import BySeed, Rule, above, least, less, mean, most, rank_correlation
from recombine.lab.table import at_end, select
from recombine.studies.bumps.percolation_theory.claims import critical_shares
from recombine.theory.percolation.lattice import Critical, critical

if TYPE_CHECKING:
    import polars as pl

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
NEAREST_HAS = "the nearest-label baseline has 0"

Cell = tuple[float, float]
"""Width sigma of the bumps, and share lambda of the lattice that was trained on."""
Lines = dict[float, dict[float, BySeed]]
"""{width: {share: one value a seed}}, ascending."""


def by_cell(table: pl.DataFrame, instrument: str, **where: Any) -> dict[Cell, BySeed]:
    """{cell: what the instrument read at the end of training}, ascending."""
    rows = select(table, instrument, **where).drop_nulls("value")
    cells = rows.partition_by("width", "share", as_dict=True)
    return {(float(w), float(s)): at_end(part, instrument) for (w, s), part in sorted(cells.items())}


def lines(cells: dict[Cell, BySeed]) -> Lines:
    """The same, a line over lambda for every width."""
    found: Lines = {}
    for (width, lam), values in cells.items():
        found.setdefault(width, {})[lam] = values
    return found


def accuracies(table: pl.DataFrame) -> dict[Cell, BySeed]:
    """The share of all labels whose sample is right in x and y."""
    return by_cell(table, "darkest.both", region=ALL)


def untrained_labels(table: pl.DataFrame) -> dict[Cell, BySeed]:
    """The share of the labels not trained on that are right."""
    return by_cell(table, "darkest.both", region=NEW)


def half_learnt(table: pl.DataFrame) -> dict[float, dict[int, Critical]]:
    """{width: {seed: the lambda from which on half of the labels not trained on are right}}"""
    found: dict[float, dict[int, Critical]] = {}
    for width, line in lines(untrained_labels(table)).items():
        for seed in _shared(line.values()):
            found.setdefault(width, {})[seed] = critical(list(line), [values[seed] for values in line.values()])
    return found


def place_ratios(table: pl.DataFrame, threshold: float) -> dict[int, dict[float, float]]:
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


def learnt_when_all_is_seen(table: pl.DataFrame) -> Judgement:
    """Accuracy when trained on the whole lattice, at the width where that is least."""
    whole = {width: values for (width, lam), values in accuracies(table).items() if lam == 1}
    return _above_at_least(whole, 0.9, "no width was trained on the whole lattice")


def wider_is_better(table: pl.DataFrame) -> Judgement:
    """What the next wider bump gains, the mean over lambda below 1, at the step of width where that is least."""
    found = lines(accuracies(table))
    shared = set.intersection(*map(set, found.values())) - {1.0} if found else set()
    seeds = _shared([line[lam] for line in found.values() for lam in shared])
    means = {
        width: {seed: float(np.mean([line[lam][seed] for lam in sorted(shared)])) for seed in seeds}
        for width, line in found.items()
    }
    if len(means) < 2 or not seeds:
        raise NotMeasured("two widths with the same lambdas and seeds are needed")
    steps = {f"{narrow:g} to {wide:g}": less(means[wide], means[narrow]) for narrow, wide in pairwise(means)}
    every = ", ".join(f"{width:g}: {mean(values):.2f}" for width, values in means.items())
    step = least(steps)
    return judge_above(list(steps[step].values()), 0.0, f"from {step}; accuracy over lambda {every}")


def above_the_line(table: pl.DataFrame) -> Judgement:
    """Accuracy less lambda at the width from 0.5 on and the lambda where that is least."""
    gains = {
        f"{width:g}, lambda = {lam:g}": {seed: value - lam for seed, value in values.items()}
        for (width, lam), values in accuracies(table).items()
        if width >= WIDE and FIRST <= lam < 1
    }
    return _above_at_least(gains, MARGIN, f"no width from {WIDE:g} on was trained on a part of the lattice")


def narrow_needs_much(table: pl.DataFrame) -> Judgement:
    """Of the narrowest bumps, the share of labels not trained on that are right below lambda 0.8, where it is most."""
    found = {lam: values for lam, values in _narrowest(table).items() if lam < MUCH}
    lam = most(found, NOT_TRAINED)
    return judge_below(list(found[lam].values()), 0.5, f"most at lambda = {lam:g}; {NEAREST_HAS}")


def much_is_enough(table: pl.DataFrame) -> Judgement:
    """And from 0.8 on, where it is least."""
    found = {lam: values for lam, values in _narrowest(table).items() if lam >= MUCH}
    lam = least(found, NOT_TRAINED)
    return judge_above(list(found[lam].values()), 0.5, f"least at lambda = {lam:g}; {NEAREST_HAS}")


def order_correlation(table: pl.DataFrame) -> BySeed:
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

    def judge(table: pl.DataFrame) -> Judgement:
        ratios = place_ratios(table, threshold)
        worst = {seed: max(abs(math.log2(ratio)) for ratio in own.values()) for seed, own in ratios.items()}
        if not worst:
            raise NotMeasured("no width has both lambdas within what was tried")
        widths = sorted({width for own in ratios.values() for width in own})
        shown = ", ".join(f"{w:g}: {np.median([own[w] for own in ratios.values() if w in own]):.2g}" for w in widths)
        return judge_below(list(worst.values()), 1.0, f"learnt / critical, which is 1 where it never is: {shown}")

    return judge


def losses(table: pl.DataFrame, labels: str) -> dict[Cell, BySeed]:
    """The loss at the end of "known" or "new" labels."""
    return by_cell(table, LOSS, region=labels)


def neighbour_shares(table: pl.DataFrame, of: dict[str, Any] = BLOCK) -> dict[Cell, BySeed]:
    """The share of neighbours in the trained block, the untrained one or pixels."""
    return by_cell(table, NEIGHBOURS, **of)


def grows_linearly(labels: str) -> Rule:
    """The correlation of loss with lambda, at the width where it is least."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = {}
        for width, line in lines(losses(table, labels)).items():
            if len(line) > 2:
                found[width] = {
                    seed: _correlation(list(line), [values[seed] for values in line.values()])
                    for seed in _shared(line.values())
                }
        every = ", ".join(f"{width:g}: {mean(values):.2f}" for width, values in found.items())
        return _above_at_least(found, 0.9, "three lambdas of a width are needed", f"; {every}")

    return judge


def more_rigid(across: int) -> Rule:
    """The share of neighbours at the most data less that at the least, mean over widths; or of widths alike."""

    def judge(table: pl.DataFrame) -> Judgement:
        cells = neighbour_shares(table)
        ends = sorted({cell[across] for cell in cells})
        other = sorted({cell[1 - across] for cell in cells})
        pairs = [tuple((end, rest) if across == 0 else (rest, end) for end in (ends[0], ends[-1])) for rest in other]
        whole = [(low, high) for low, high in pairs if low in cells and high in cells]
        if len(ends) < 2 or not whole:
            raise NotMeasured("maps at two ends are needed")
        seeds = _shared([cells[cell] for pair in whole for cell in pair])
        gain = [float(np.mean([cells[high][seed] - cells[low][seed] for low, high in whole])) for seed in seeds]
        lows, highs = (np.mean([mean(cells[pair[i]]) for pair in whole]) for i in (0, 1))
        return judge_above(gain, 0.0, f"{lows:.2f} at {ends[0]:g}, {highs:.2f} at {ends[-1]:g}")

    return judge


def learned_sheet(table: pl.DataFrame) -> Judgement:
    """The share of neighbours less that of the untrained block, trained on the whole lattice, where it is least."""
    cells, fresh, pixels = (neighbour_shares(table, of) for of in (BLOCK, UNTRAINED, PIXELS))
    gains = {
        width: less(values, fresh[width, lam])
        for (width, lam), values in cells.items()
        if lam == 1 and fresh.get((width, lam), {}).keys() & values.keys()
    }
    each = ", ".join(
        f"{w:g}: {mean(cells[w, 1.0]):.2f} ({mean(fresh[w, 1.0]):.2f}, {mean(pixels.get((w, 1.0), {})):.2f})"
        for w in gains
    )
    missing = "no width was trained on the whole lattice"
    return _above_at_least(gains, 0.0, missing, f"; block (untrained, pixels): {each}")


def _above_at_least(found: Mapping[Any, BySeed], bound: float, missing: str, beside: str = "") -> Judgement:
    """The judgement of "above", for the width that has the least."""
    width = least(found, missing)
    said = width if isinstance(width, str) else f"{width:g}"
    return judge_above(list(found[width].values()), bound, f"least at sigma = {said}{beside}")


def _narrowest(table: pl.DataFrame) -> dict[float, BySeed]:
    return lines(untrained_labels(table)).get(NARROWEST, {})


def _shared(values: Any) -> list[int]:
    """The seeds that all of these have."""
    found = [set(each) for each in values]
    return sorted(set.intersection(*found)) if found else []


def _correlation(lams: list[float], curve: list[float]) -> float:
    return float(np.corrcoef(lams, curve)[0, 1]) if np.ptp(curve) else 0.0


def _rank(found: Critical) -> float:
    """Where it stands in an order: what is never learnt last, what is learnt from the first lambda on first."""
    return {"crosses": found.value, "never": 2.0, "below": 0.0}[found.outcome]


NO_NUMBER = "Fig 6e, no number in the text"
CLAIMS = (
    Claim("PC0", "Every width is learnt when trained on the whole lattice (accuracy where it is least)",
          "not asked (above 0.9); without it the others say little", learnt_when_all_is_seen, check=True),
    Claim("PC1", "At the same lambda wider bumps are learnt better (gain of the next width, mean over lambda, least)",
          "Fig 6e: ordered in sigma (above 0)", wider_is_better),
    Claim("PC2", "From sigma = 0.5 on accuracy is above lambda, the score of the nearest-label baseline (difference "
          "where least)", f"{NO_NUMBER} (above 0.01)", above_the_line),
    Claim("PC3", "Bumps of sigma = 0.1 are not learnt below lambda = 0.8 (share of labels not trained on that are "
          "right, where most are)", "learnt at 0.8 to 0.9 only (below 0.5)", narrow_needs_much),
    Claim("PC3b", "They are learnt from lambda = 0.8 on (share of labels not trained on that are right, where fewest "
          "are)", "learnt at 0.8 to 0.9 (above 0.5); the nearest-label baseline has 0.8 to 0.9 of all labels right and "
          "none of these", much_is_enough),
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
          "(above 0)", learned_sheet, check=True),
)  # fmt: skip
