"""Learning from a share lambda of a lattice of bumps (Liang et al. 2024, Fig 6e): the rules.

A memoriser of the nearest label scores lambda, as any other label of the lattice is a pixel away: all labels that it
saw, and none that it did not. So labels that were never seen are judged by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.instruments.bumps.evaluation import ALL
from recombine.instruments.bumps.label_losses import LOSS
from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.instruments.representations.learned_maps import NEIGHBOURS, MapLook
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import least, rank_correlation
from recombine.lab.table import at_end
from recombine.studies.bumps.percolation_theory.claims import moments
from recombine.theory.percolation.lattice import Critical, critical

if TYPE_CHECKING:
    import polars as pl

THEORY = "theory"
BLOCK = MapLook().block
THRESHOLDS = (0.005, 0.05)  # of the overlap: the paper's choice for Fig 6c, and that of Fig 14b
NARROWEST = 0.1
WIDE = 0.5  # from this width on the paper has accuracy above the line
FIRST = 0.1  # the lambda from which on that is asked
MUCH = 0.8  # the lambda from which on the narrowest bumps are learnt
MARGIN = 0.01

Cell = tuple[float, float]
"""Sigma and lambda."""


def named(width: float, lam: float) -> str:
    """(0.3, 0.5) -> "sigma-0.3-lambda-0.5", the arm."""
    return f"sigma-{width:g}-lambda-{lam:g}"


def accuracies(table: pl.DataFrame) -> dict[Cell, dict[int, float]]:
    """{cell: {seed: share of all labels whose sample is right in x and y}} at the end of training, cells ascending."""
    return _measured(table, "darkest.both", ALL)


def unseen(table: pl.DataFrame) -> dict[Cell, dict[int, float]]:
    """{cell: {seed: share of the labels that were never seen that are right}} at the end, cells ascending."""
    return _measured(table, "darkest.both", NEW)


def half_learnt(table: pl.DataFrame) -> dict[float, dict[int, Critical]]:
    """{width: {seed: the lambda from which on half of the labels never seen are right}}"""
    cells = unseen(table)
    found: dict[float, dict[int, Critical]] = {}
    for width in sorted({width for width, _ in cells}):
        own = {lam: values for (other, lam), values in cells.items() if other == width}
        for seed in sorted(set.intersection(*map(set, own.values()))):
            curve = [values[seed] for values in own.values()]
            found.setdefault(width, {})[seed] = critical(list(own), curve)
    return found


def wider_is_better(table: pl.DataFrame) -> Judgement:
    """PC1: what the next wider bump gains, the mean over lambda below 1, at the step of width where that is least."""
    means = _over_lambda(table)
    if len(means) < 2:
        raise NotMeasured("two widths with the same lambdas and seeds are needed")
    steps = {f"{narrow:g} to {wide:g}": means[wide] - means[narrow] for narrow, wide in pairwise(means)}
    least = min(steps, key=lambda step: float(steps[step].mean()))
    every = ", ".join(f"{width:g}: {values.mean():.2f}" for width, values in means.items())
    return judge_above(steps[least], 0.0, f"from {least}; accuracy over lambda {every}")


def above_the_line(table: pl.DataFrame) -> Judgement:
    """PC2: accuracy less lambda at the width from 0.5 on and the lambda where that is least."""
    cells = {
        cell: list(v.values()) for cell, v in accuracies(table).items() if cell[0] >= WIDE and FIRST <= cell[1] < 1
    }
    if not cells:
        raise NotMeasured(f"no width from {WIDE:g} on was trained on a part of the lattice")
    width, lam = min(cells, key=lambda cell: float(np.mean(cells[cell])) - cell[1])
    return judge_above(np.array(cells[width, lam]) - lam, MARGIN, f"least at sigma = {width:g}, lambda = {lam:g}")


def narrow_needs_much(table: pl.DataFrame) -> Judgement:
    """PC3: of the narrowest bumps, the unseen share that is right below lambda 0.8, where that is most."""
    return _narrowest(table, much=False)


def much_is_enough(table: pl.DataFrame) -> Judgement:
    """PC3b: and from 0.8 on, where that is least."""
    return _narrowest(table, much=True)


def learnt_when_all_is_seen(table: pl.DataFrame) -> Judgement:
    """PC0: accuracy with the whole lattice, at the width where that is least."""
    whole = {width: values for (width, lam), values in accuracies(table).items() if lam == 1}
    width = least(whole, "no width was trained on the whole lattice")
    return judge_above(list(whole[width].values()), 0.9, f"least at sigma = {width:g}")


def follows_in_order(table: pl.DataFrame) -> Judgement:
    """PC4: the rank correlation over widths of the lambda at which half is learnt with the critical one of theory."""
    learnt, theory = half_learnt(table), moments(table, THEORY)
    values = []
    for seed in sorted(theory):
        widths = [width for width, own in learnt.items() if seed in own]
        model = [_ranked(learnt[width][seed]) for width in widths]
        expected = [min(theory[seed].get((width, THRESHOLDS[0]), math.nan), 2.0) for width in widths]
        if len(set(expected)) > 1 and not any(map(math.isnan, expected)):
            values.append(rank_correlation(model, expected))
    return judge_above(values, 0.8, "any order in sigma would do: theory has the same one at every threshold")


def follows_in_place(threshold: float) -> Callable[[pl.DataFrame], Judgement]:
    """PC5: factors of two between the lambda at which half is learnt and the critical one, at the worst width. Where
    the set never hangs together the critical lambda counts as 1, the least that it can be.
    """

    def judge(table: pl.DataFrame) -> Judgement:
        ratios = place_ratios(table, threshold)
        worst = {seed: max(abs(math.log2(ratio)) for ratio in own.values()) for seed, own in ratios.items() if own}
        if not worst:
            raise NotMeasured("no width has both lambdas within what was tried")
        widths = sorted({width for own in ratios.values() for width in own})
        shown = ", ".join(f"{w:g}: {np.median([own[w] for own in ratios.values() if w in own]):.2g}" for w in widths)
        return judge_below(list(worst.values()), 1.0, f"learnt / critical, which is 1 where it never is: {shown}")

    return judge


def place_ratios(table: pl.DataFrame, threshold: float) -> dict[int, dict[float, float]]:
    """{seed: {width: lambda at which half is learnt, over the critical one}}, where the first can be read; a critical
    lambda that is never reached is taken for 1.
    """
    learnt, theory = half_learnt(table), moments(table, THEORY)
    return {
        seed: {
            width: own[seed].value / min(cells[width, threshold], 1.0)
            for width, own in learnt.items()
            if seed in own and own[seed].outcome == "crosses" and cells.get((width, threshold), 0.0) > 0
        }
        for seed, cells in theory.items()
    }


def losses(table: pl.DataFrame, labels: str) -> dict[Cell, dict[int, float]]:
    """{cell: {seed: loss at the end of these labels}}, "known" or "new"; cells ascending."""
    return _measured(table, LOSS, labels)


def shares(table: pl.DataFrame, of: str = BLOCK) -> dict[Cell, dict[int, float]]:
    """{cell: {seed: share of neighbours}} in the block, the untrained one or pixels; cells ascending."""
    return _measured(table, NEIGHBOURS, of)


def grows_linearly(labels: str) -> Callable[[pl.DataFrame], Judgement]:
    """PC6: the correlation of loss with lambda, at the width where it is least."""

    def judge(table: pl.DataFrame) -> Judgement:
        cells = losses(table, labels)
        found: dict[float, list[float]] = {}
        for width in sorted({width for width, _ in cells}):
            own = {lam: values for (other, lam), values in cells.items() if other == width}
            if len(own) > 2:
                for seed in sorted(set.intersection(*map(set, own.values()))):
                    curve = [values[seed] for values in own.values()]
                    value = float(np.corrcoef(list(own), curve)[0, 1]) if np.ptp(curve) else 0.0
                    found.setdefault(width, []).append(value)
        if not found:
            raise NotMeasured("three lambdas of a width are needed")
        least = min(found, key=lambda width: float(np.mean(found[width])))
        every = ", ".join(f"{width:g}: {np.mean(values):.2f}" for width, values in found.items())
        return judge_above(found[least], 0.9, f"least at sigma = {least:g}; {every}")

    return judge


def more_rigid(across: int) -> Callable[[pl.DataFrame], Judgement]:
    """PC7: the share of neighbours at the most data less that at the least, mean over widths; or of widths alike."""

    def judge(table: pl.DataFrame) -> Judgement:
        cells = shares(table)
        ends = sorted({cell[across] for cell in cells})
        other = sorted({cell[1 - across] for cell in cells})
        pairs = [tuple((end, rest) if across == 0 else (rest, end) for end in (ends[0], ends[-1])) for rest in other]
        whole = [(low, high) for low, high in pairs if low in cells and high in cells]
        if len(ends) < 2 or not whole:
            raise NotMeasured("maps at two ends are needed")
        seeds = sorted(set.intersection(*(set(cells[cell]) for pair in whole for cell in pair)))
        gain = [float(np.mean([cells[high][seed] - cells[low][seed] for low, high in whole])) for seed in seeds]
        lows, highs = (np.mean([np.mean(list(cells[pair[i]].values())) for pair in whole]) for i in (0, 1))
        return judge_above(gain, 0.0, f"{lows:.2f} at {ends[0]:g}, {highs:.2f} at {ends[-1]:g}")

    return judge


def learned_sheet(table: pl.DataFrame) -> Judgement:
    """PC7n: the share of neighbours less that of the untrained block, all of the lattice seen, where it is least."""
    cells, null, pixels = shares(table), shares(table, "untrained"), shares(table, "pixels")
    gains = {
        cell[0]: [values[seed] - null[cell][seed] for seed in values if seed in null.get(cell, {})]
        for cell, values in cells.items()
        if cell[1] == 1
    }
    gains = {width: values for width, values in gains.items() if values}
    if not gains:
        raise NotMeasured("no width was trained on the whole lattice")
    least = min(gains, key=lambda width: float(np.mean(gains[width])))
    told = ", ".join(
        f"{width:g}: {np.mean(list(cells[width, 1.0].values())):.2f} ({np.mean(list(null[width, 1.0].values())):.2f}, "
        f"{np.mean(list(pixels.get((width, 1.0), {0: math.nan}).values())):.2f})"
        for width in gains
    )
    return judge_above(gains[least], 0.0, f"least at sigma = {least:g}; block (untrained, pixels): {told}")


def _measured(table: pl.DataFrame, instrument: str, node: str) -> dict[Cell, dict[int, float]]:
    found = {cell_of(arm): at_end(table, instrument, arm, [node]) for arm in table["arm"].unique() if arm != THEORY}
    return {cell: values for cell, values in sorted(found.items()) if values}


def cell_of(arm: str) -> Cell:
    """ "sigma-0.3-lambda-0.5" -> (0.3, 0.5)"""
    _, width, _, lam = arm.split("-")
    return float(width), float(lam)


def _over_lambda(table: pl.DataFrame) -> dict[float, NDArray[np.float64]]:
    """{width: mean accuracy over lambda below 1, a value a seed}, where every width has the lambda and the seed."""
    cells = accuracies(table)
    widths, lams = sorted({width for width, _ in cells}), sorted({lam for _, lam in cells if lam < 1})
    shared = [lam for lam in lams if all((width, lam) in cells for width in widths)]
    if not shared:
        return {}
    seeds = sorted(set.intersection(*(set(cells[width, lam]) for width in widths for lam in shared)))
    if not seeds:
        return {}
    return {
        width: np.array([np.mean([cells[width, lam][seed] for lam in shared]) for seed in seeds]) for width in widths
    }


def _narrowest(table: pl.DataFrame, much: bool) -> Judgement:
    shares = {
        lam: list(values.values())
        for (width, lam), values in unseen(table).items()
        if width == NARROWEST and (lam >= MUCH) == much
    }
    if not shares:
        raise NotMeasured(f"sigma = {NARROWEST:g} was not trained on such a share")
    pick = min if much else max
    lam = pick(shares, key=lambda lam: float(np.mean(shares[lam])))
    note = f"{'least' if much else 'most'} at lambda = {lam:g}; the memoriser 0"
    return (judge_above if much else judge_below)(shares[lam], 0.5, note)


def _ranked(found: Critical) -> float:
    """Where it stands in an order: what is never learnt last, what is learnt from the first lambda on first."""
    return {"crosses": found.value, "never": 2.0, "below": 0.0}[found.outcome]


NO_NUMBER = "Fig 6e, no number in the text"
PERCOLATION = (
    Claim("PC0", "every width is learnt when all of the lattice is seen (accuracy where it is least)",
          "not asked (above 0.9); without it the others say little", learnt_when_all_is_seen),
    Claim("PC1", "at the same lambda wider bumps are learnt better (gain of the next width, mean over lambda, least)",
          "Fig 6e: ordered in sigma (above 0)", wider_is_better),
    Claim("PC2", "from sigma = 0.5 on accuracy is above lambda, which a memoriser scores (difference where least)",
          f"{NO_NUMBER} (above 0.01)", above_the_line),
    Claim("PC3", "sigma = 0.1 is not learnt below lambda = 0.8 (share of unseen labels that are right, where most are)",
          "learnt at 0.8 to 0.9 only (below 0.5)", narrow_needs_much),
    Claim("PC3b", "and is learnt from 0.8 on (share of unseen labels that are right, where fewest are)",
          "learnt at 0.8 to 0.9 (above 0.5); a memoriser has 0.8 to 0.9 of all labels right, none of these",
          much_is_enough),
    Claim("PC4", "the lambda at which half of the unseen labels are right is ordered as the critical lambda of "
          "percolation (rank correlation over widths)", "learning follows percolation (above 0.8)", follows_in_order),
    *(Claim(f"PC5-{threshold:g}", f"and is within a factor of two of it, at threshold {threshold:g} (log2 of their "
            "ratio, at the worst width)", "the threshold was chosen to fit (below 1)", follows_in_place(threshold))
      for threshold in THRESHOLDS),
    Claim("PC6", "the loss of labels that were seen grows linearly with lambda (correlation, at the width where it is "
          "least)", "Fig 14c: linearly (above 0.9)", grows_linearly(KNOWN)),
    Claim("PC6v", "and so does the loss of labels that were not (correlation, at the width where it is least)",
          "Fig 14c: linearly (above 0.9)", grows_linearly(NEW)),
    Claim("PC7", "with more data the block's map is more of a sheet (share of neighbours, largest lambda less "
          "smallest, mean over widths)", "Fig 15: less rigid with fewer data points (above 0)", more_rigid(1)),
    Claim("PC7s", "and with wider bumps (share of neighbours, widest less narrowest, mean over lambda)",
          "Fig 15: less rigid with smaller sigma (above 0)", more_rigid(0)),
    Claim("PC7n", "where all of the lattice is seen it is more of a sheet than in the untrained block (difference at "
          "the width where it is least)", "not asked: labels enter every block, so an untrained one has a map too "
          "(above 0)", learned_sheet),
)  # fmt: skip
