"""The claims of training away from the probe (Yang et al. 2025, Figs 15 and 16)."""

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import Claim, Judgement, NotMeasured, verdict_below
from recombine.lab.rules import Measure, Rule, between
from recombine.lab.shares import Share, all_of, judge_median, share_below
from recombine.lab.table import Table
from recombine.studies.identity_mapping._shared.starts import per_start, single, values

Numbers = NDArray[np.float64]

SHIFT = 0.05
RARE = 0.01
EXPLAINED = 0.02
BITES = ("wide", "weak", "round")  # arms in which truncation takes away a few percent of the points


def shifts(table: Table, arm: str, instrument: str = "shift") -> Numbers:
    """How far the path of each start moves, over |probe|.  # [n]"""
    if not len(found := per_start(table, instrument, arm=arm)):
        raise NotMeasured(f"no {instrument} in {arm}")
    return found


def unchanged(*arms: str) -> Rule:
    """In every start the path moves by less than 5% of |probe| once the points near it are gone."""

    def share(table: Table) -> tuple[int, int]:
        found = np.concatenate([shifts(table, arm) for arm in arms])
        return int((found < SHIFT).sum()), len(found)

    def note(table: Table) -> str:
        return "; ".join(
            f"{arm}: median {np.median(found):.4f}, largest {found.max():.4f}, {share_inside(table, arm):.2%} cut"
            for arm, found in ((arm, shifts(table, arm)) for arm in arms)
        )

    return all_of(share, note)


def delays(table: Table, arm: str) -> Numbers:
    """The time of each concept over that with all points, of the starts that learn both both times.  # [2, n]"""
    ratios = np.stack([per_start(table, "shift.time", arm=arm, concept=k) for k in (1, 2)])
    ratios = ratios[:, np.isfinite(ratios).all(axis=0)]
    if not ratios.size:
        raise NotMeasured(f"no start of {arm} learns both concepts both times")
    return ratios


def same_times(*arms: str) -> Rule:
    """In every start that learns both, both concepts are learned at the same time within 5%."""

    def share(table: Table) -> tuple[int, int]:
        same = np.concatenate([np.abs(delays(table, arm) - 1).max(axis=0) < SHIFT for arm in arms])
        return int(same.sum()), len(same)

    def note(table: Table) -> str:
        medians = {arm: np.median(delays(table, arm), axis=1) for arm in arms}
        return "; ".join(f"{arm}: median ratios {', '.join(f'{r:.3f}' for r in both)}" for arm, both in medians.items())

    return all_of(share, note)


def over_predicted(*arms: str) -> Measure:
    """For each start, its delay over that of the affine form on its dataset, the mean over arms and concepts."""

    def measure(table: Table) -> dict[int, float]:
        ratios = []
        for arm in arms:
            for k in (1, 2):
                late, known = per_start(table, "shift.time", arm=arm, concept=k), predicted_delays(table, arm, k)
                ratios.append(late / np.resize(known, len(late)))
        means = np.mean(ratios, axis=0)
        return dict(enumerate(means[np.isfinite(means)].tolist()))

    return measure


def _predicted(table: Table) -> str:
    known = {arm: [np.mean(predicted_delays(table, arm, k)) for k in (1, 2)] for arm in BITES}
    return "; ".join(f"{arm}: predicted {one:.3f}, {two:.3f}" for arm, (one, two) in known.items())


def predicted_delays(table: Table, arm: str, concept: int) -> Numbers:
    """By the affine form, one number a dataset."""
    if not len(found := values(table, "predicted.time", arm=arm, concept=concept)):
        raise NotMeasured(f"no delay was predicted in {arm}")
    return found


def inside(arm: str) -> Share:
    """How many training points lie within the radius, of how many in all datasets."""

    def share(table: Table) -> tuple[int, int]:
        found = values(table, "inside", arm=arm)
        return round(found.sum()), round(len(found) * single(table, "points", arm=arm))

    return share


def share_inside(table: Table, arm: str) -> float:
    """The share of training points that lie within the radius."""
    k, n = inside(arm)(table)
    return k / n


def little_to_cut(arm: str) -> Rule:
    """Truncation concerns few of the training points; the interval counts points."""
    return share_below(inside(arm), RARE, lambda table: "{} of {:,} points".format(*inside(arm)(table)))


def less_than_redrawing(arm: str) -> Rule:
    """The median shift over that of drawing all points anew is below 1."""

    def judge(table: Table) -> Judgement:
        cut, redrawn = (shifts(table, arm, instrument) for instrument in ("shift", "redrawn"))
        note = f"median shifts {np.median(cut):.4f} and {np.median(redrawn):.4f}"
        return judge_median(cut / redrawn, lambda interval, n: verdict_below(interval, 1.0, n), note, draws=2_000)

    return judge


CLAIMS = (
    Claim("S11", "Without the points near the probe its path is unchanged, as released (share of starts).",
          "unchanged (< 5% of |probe|)",
          unchanged("released")),
    Claim("S11w", "Without the points near the probe its path is unchanged also where many points are near: in "
          "wide clusters (share of starts).",
          "unchanged (< 5%)",
          unchanged(*BITES), check=True),
    Claim("S11r", "Without the points near the probe its path is unchanged also in two layers with ReLU (share of "
          "starts).",
          "unchanged (< 5%)",
          unchanged("wide relu"),
          check=True),
    Claim("S11t", "As released, concepts are learned at the same time without the points near the probe (share of "
          "starts).",
          "unchanged (< 5%)",
          same_times("released")),
    Claim("S11u", "Concepts are learned at the same time without the points near the probe also where many points "
          "are near (share of starts).",
          "unchanged (< 5%)",
          same_times(*BITES), check=True),
    Claim("S11p", "Where many points are near, the delay is what the affine form says of the truncated points "
          "(delay over it).",
          "not in the paper (within 2%)",
          between(over_predicted(*BITES), 1 - EXPLAINED, 1 + EXPLAINED, _predicted),
          check=True),
    Claim("S11l", "With sigma as the figures label it hardly a point is near the probe (share of points).",
          "not in the paper (below 0.01)",
          little_to_cut("label"), check=True),
    Claim("S11n", "With sigma as released hardly a point is near the probe (share of points).",
          "not in the paper (below 0.01)",
          little_to_cut("released"), check=True),
    Claim("S11c", "As released, truncation moves a path less than drawing other points does (ratio).",
          "not in the paper (below 1)",
          less_than_redrawing("released"), check=True),
    Claim("S11d", "In wide clusters, too, truncation moves a path less than drawing other points does (ratio).",
          "not in the paper (below 1)",
          less_than_redrawing("wide"),
          check=True),
)  # fmt: skip
