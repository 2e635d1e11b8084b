"""Training points away from the probe (Yang et al. 2025, Figs 15 and 16): the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every, judge_within, verdict_below
from recombine.lab.statistics import bootstrap_interval, proportion_interval
from recombine.lab.table import curves
from recombine.studies.identity_mapping.order.claims import per_start, told

if TYPE_CHECKING:
    import polars as pl

SHIFT = 0.05
RARE = 0.01
EXPLAINED = 0.02


def unchanged(arms: tuple[str, ...]) -> Callable[[pl.DataFrame], Judgement]:
    """S11: in how many starts the path moves by less than 5% of |probe| once the points near it are gone."""

    def judge(table: pl.DataFrame) -> Judgement:
        by_arm = {arm: per_start(table, arm, "shift") for arm in arms}
        if not all(len(shifts) for shifts in by_arm.values()):
            raise NotMeasured(f"needs {', '.join(arms)}")
        small = sum(int((shifts < SHIFT).sum()) for shifts in by_arm.values())
        note = "; ".join(
            f"{arm}: median {np.median(shifts):.4f}, largest {shifts.max():.4f}, {share_inside(table, arm):.2%} cut"
            for arm, shifts in by_arm.items()
        )
        return judge_every(small, sum(map(len, by_arm.values())), note)

    return judge


def same_times(arms: tuple[str, ...]) -> Callable[[pl.DataFrame], Judgement]:
    """S11t: in how many starts both concepts are learned at the same time within 5%, among those that learn both."""

    def judge(table: pl.DataFrame) -> Judgement:
        kept, notes = [], []
        for arm in arms:
            ratios = np.stack([per_start(table, arm, f"shift.time.{k}") for k in (1, 2)])  # [2, n]
            if not np.isfinite(ratios).all(axis=0).any():
                raise NotMeasured(f"no start of {arm} learns both concepts both times")
            ratios = ratios[:, np.isfinite(ratios).all(axis=0)]
            kept.append(np.abs(ratios - 1).max(axis=0) < SHIFT)
            notes.append(f"{arm}: median ratios {', '.join(f'{ratio:.3f}' for ratio in np.median(ratios, axis=1))}")
        same = np.concatenate(kept)
        return judge_every(int(same.sum()), len(same), "; ".join(notes))

    return judge


def delay_is_predicted(arms: tuple[str, ...]) -> Callable[[pl.DataFrame], Judgement]:
    """S11p: the delay of a start over that of the affine form on its own dataset, the mean over arms and concepts."""

    def judge(table: pl.DataFrame) -> Judgement:
        ratios, notes = [], []
        for arm in arms:
            for k in (1, 2):
                late, known = per_start(table, arm, f"shift.time.{k}"), predicted_delays(table, arm, k)
                ratios.append(late / np.array([known[start % len(known)] for start in range(len(late))]))
            one, two = (np.mean(predicted_delays(table, arm, k)) for k in (1, 2))
            notes.append(f"{arm}: predicted {one:.3f}, {two:.3f}")
        means = np.mean(ratios, axis=0)
        return judge_within(means[np.isfinite(means)], 1 - EXPLAINED, 1 + EXPLAINED, "; ".join(notes))

    return judge


def predicted_delays(table: pl.DataFrame, arm: str, concept: int) -> list[float]:
    """By the affine form, one number a dataset."""
    found = curves(table, f"predicted.time.{concept}", arm)
    if not found:
        raise NotMeasured(f"no delay was predicted in {arm}")
    return [float(values[0]) for _, values in found.values()]


def share_inside(table: pl.DataFrame, arm: str) -> float:
    """The share of training points that lie within the radius."""
    inside = counts_inside(table, arm)
    return sum(inside) / (len(inside) * told(table, arm, "all", "points"))


def counts_inside(table: pl.DataFrame, arm: str) -> list[float]:
    """How many points are inside, one number a dataset."""
    import polars as pl

    found = table.filter((pl.col("arm") == arm) & (pl.col("instrument") == "inside"))["value"].to_list()
    if not found:
        raise NotMeasured(f"nothing was counted in {arm}")
    return found


def little_to_cut(arm: str) -> Callable[[pl.DataFrame], Judgement]:
    """S11n: the share of training points that truncation touches at all; the interval counts points."""

    def judge(table: pl.DataFrame) -> Judgement:
        inside = counts_inside(table, arm)
        points = round(len(inside) * told(table, arm, "all", "points"))
        interval = proportion_interval(round(sum(inside)), points)
        share = sum(inside) / points
        note = f"{sum(inside):.0f} of {points:,} points"
        return Judgement(share, interval, points, verdict_below(interval, RARE, points), note)

    return judge


def no_more_than_redrawing(arm: str) -> Callable[[pl.DataFrame], Judgement]:
    """S11c: the shift over that of drawing all points anew, the median over starts, below 1."""

    def judge(table: pl.DataFrame) -> Judgement:
        shift, redrawn = per_start(table, arm, "shift"), per_start(table, arm, "redrawn")
        if not len(shift) or len(shift) != len(redrawn):
            raise NotMeasured(f"needs both paths in {arm}")
        ratios = shift / redrawn
        interval = bootstrap_interval(ratios, np.median, draws=2_000)
        note = f"median shifts {np.median(shift):.4f} and {np.median(redrawn):.4f}"
        return Judgement(
            float(np.median(ratios)), interval, len(ratios), verdict_below(interval, 1.0, len(ratios)), note
        )

    return judge


TRUNCATION = (
    Claim("S11", "without the points near the probe its path is unchanged, as released (share of starts)",
          "unchanged (< 5% of |probe|)", unchanged(("released",))),
    Claim("S11w", "also where truncation bites: wide clusters and weak signals (share of starts)",
          "unchanged (< 5%)", unchanged(("wide", "weak", "round"))),
    Claim("S11r", "also in two layers with ReLU (share of starts)", "unchanged (< 5%)", unchanged(("wide relu",))),
    Claim("S11t", "as released, concepts are learned at the same time too (share of starts)", "unchanged (< 5%)",
          same_times(("released",))),
    Claim("S11u", "also where truncation bites (share of starts)", "unchanged (< 5%)",
          same_times(("wide", "weak", "round"))),
    Claim("S11p", "the delay there is what the affine form says of the truncated points (delay over it)",
          "beyond the paper (within 2%)", delay_is_predicted(("wide", "weak", "round"))),
    Claim("S11l", "with sigma as the figures label it hardly a point is inside (share of points)",
          "beyond the paper (below 0.01)", little_to_cut("label")),
    Claim("S11n", "with sigma as released, too (share of points)", "beyond the paper (below 0.01)",
          little_to_cut("released")),
    Claim("S11c", "as released, truncation moves a path less than drawing other points does (ratio)",
          "beyond the paper (below 1)", no_more_than_redrawing("released")),
    Claim("S11d", "in wide clusters, too (ratio)", "beyond the paper (below 1)", no_more_than_redrawing("wide")),
)  # fmt: skip
