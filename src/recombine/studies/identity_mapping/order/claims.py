"""The order of two concepts (Yang et al. 2025, Fig 2 and Theorem 4.1): the rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every, verdict_above, verdict_within
from recombine.lab.statistics import bootstrap_interval, proportion_interval

if TYPE_CHECKING:
    import polars as pl

EXACT = 1e-10  # S1: largest difference between the closed form and the integration
FLIP = 1e-3  # S2: of the closed forms' flip, relative to the rule's
NEAR_FLIP = 0.1  # S2n, S2b: of the trained nets' flip
CLEAR = 1.3  # a_k of one concept over the other's from which the order of a setting counts as clear
SLOPE = 0.02  # S3
TIME = 0.1  # S3b, S3o
HALF = 1.5  # S3c: the nets' time over that of the form without a bias
CLUSTERS, SPREAD = 3, 0.05  # two concepts and the origin; var_2
RELEASED = "mu=1,2/var=0.05"
VERDICTS = ("fails", "undecided", "holds")  # from the worst


def settings(arm: str) -> tuple[str, tuple[float, float], float]:
    """What an arm's name says: which nets, (mu_1, mu_2), var_1."""
    found = re.fullmatch(r"([a-z-]+)/mu=([\d.]+),([\d.]+)/var=([\d.]+)", arm)
    if found is None:
        raise NotMeasured(f"arm '{arm}' does not name its setting as bias/mu=1,2/var=0.05 does")
    return found[1], (float(found[2]), float(found[3])), float(found[4])


def strengths(arm: str) -> tuple[float, float]:
    """(a_1, a_2) of an arm."""
    _, (first, second), variance = settings(arm)
    return first**2 / CLUSTERS + variance, second**2 / CLUSTERS + SPREAD


def per_start(table: pl.DataFrame, arm: str, instrument: str) -> NDArray[np.float64]:
    """What an instrument read on each start of an arm, NaN where there was nothing to read.  # [n]"""
    import polars as pl

    here = (pl.col("arm") == arm) & (pl.col("instrument") == instrument) & pl.col("node").str.starts_with("start ")
    number = pl.col("node").str.strip_prefix("start ").cast(pl.Int64)
    found = table.filter(here).with_columns(number=number).sort("seed", "number")["value"]
    return found.fill_null(np.nan).to_numpy()


def told(table: pl.DataFrame, arm: str, node: str, instrument: str) -> float:
    """A single number of an arm."""
    import polars as pl

    same = (pl.col("arm") == arm) & (pl.col("node") == node) & (pl.col("instrument") == instrument)
    found = table.filter(same).drop_nulls("value")["value"]
    if not len(found):
        raise NotMeasured(f"{instrument} of {node} was not measured in {arm}")
    return float(found[0])


def arms_of(table: pl.DataFrame, nets: str) -> list[str]:
    """The arms with these nets, as they come in the table."""
    return [arm for arm in dict.fromkeys(table["arm"].to_list()) if settings(arm)[0] == nets]


def log_ratios(table: pl.DataFrame, arm: str) -> NDArray[np.float64]:
    """log t_1 / t_2 of each start; below 0 where concept 1 is first.

    A concept that is not learned by the end is later than any that is: infinite. NaN where neither is.
    """
    one, two = (np.nan_to_num(per_start(table, arm, f"time.{k}"), nan=np.inf) for k in (1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: NDArray[np.float64] = np.log(one) - np.log(two)
    return ratios


def stronger_first(table: pl.DataFrame, arm: str) -> NDArray[np.bool_]:
    """Whether each start learns the concept with the larger a_k first; not so where it learns neither.  # [n]"""
    one, two = strengths(arm)
    ratios = log_ratios(table, arm)
    first: NDArray[np.bool_] = ratios < 0 if one > two else ratios > 0
    return first


def exact(nets: tuple[str, ...]) -> Callable[[pl.DataFrame], Judgement]:
    """S1: in how many starts the closed form is the integrated one to 1e-10."""

    def judge(table: pl.DataFrame) -> Judgement:
        arms = [arm for name in nets for arm in arms_of(table, name)]
        within, starts, worst = (
            [told(table, arm, "all", f"closed.{what}") for arm in arms] for what in ("within", "starts", "worst")
        )
        if not arms:
            raise NotMeasured("no closed form was integrated")
        return judge_every(int(sum(within)), int(sum(starts)), f"largest difference {max(worst):.1e}")

    return judge


def closed_flip(table: pl.DataFrame) -> Judgement:
    """S2: in how many drawn worlds and forms the located flip is the rule's."""
    import polars as pl

    found = table.filter(pl.col("instrument").str.starts_with("flip.")).drop_nulls("value")["value"].to_numpy()
    if not len(found):
        raise NotMeasured("no flip was located in the closed forms")
    off = np.abs(found - 1)
    return judge_every(int((off < FLIP).sum()), len(off), f"farthest off {off.max():.1e}; both closed forms")


def crossing(variances: NDArray[np.float64], heights: NDArray[np.float64]) -> float:
    """Where a curve first goes from above 0 to 0 or below, between its points in proportion; NaN where it does not."""
    for left in range(len(variances) - 1):
        high, low = heights[left], heights[left + 1]
        if high > 0 >= low:
            return float(variances[left] + (variances[left + 1] - variances[left]) * high / (high - low))
    return float("nan")


def trained_flip(nets: str) -> Callable[[pl.DataFrame], Judgement]:
    """S2n, S2b: the var_1 at which the mean log t_1 / t_2 of trained nets passes 0; the interval draws starts again.

    Around the flip: variances from half the rule's to twice it.
    """

    def judge(table: pl.DataFrame) -> Judgement:
        rule = (2.0**2 - 1.0**2) / CLUSTERS + SPREAD
        near = {settings(arm)[2]: arm for arm in arms_of(table, nets) if settings(arm)[1] == (1.0, 2.0)}
        near = {variance: near[variance] for variance in sorted(near) if rule / 2 <= variance <= 2 * rule}
        if len(near) < 2:
            raise NotMeasured(f"needs two arms {nets}/mu=1,2/var=.. about var_1 = {rule:g}")
        ratios = np.stack([log_ratios(table, arm) for arm in near.values()], axis=1)  # [starts, variances]
        ratios = ratios[np.isfinite(ratios).all(axis=1)]
        at = np.array(list(near))

        def flip(starts: NDArray[np.float64]) -> float:
            return crossing(at, ratios[starts.astype(int)].mean(axis=0))

        estimate, n = flip(np.arange(len(ratios), dtype=float)) if len(ratios) else float("nan"), len(ratios)
        if not np.isfinite(estimate):
            raise NotMeasured("the order does not flip among the variances that were trained on")
        drawn = np.random.default_rng(0).integers(n, size=(2_000, n)).astype(float)
        flips = np.array([flip(starts) for starts in drawn])
        interval = tuple(np.quantile(flips[np.isfinite(flips)], [0.025, 0.975]).tolist())
        verdict = verdict_within(interval, rule * (1 - NEAR_FLIP), rule * (1 + NEAR_FLIP), n)
        return Judgement(estimate, interval, n, verdict, f"the rule says {rule:g}; percentile bootstrap over starts")

    return judge


def clear_order(table: pl.DataFrame) -> Judgement:
    """S2p: the share of starts that learn the stronger concept first in every clear setting of Fig 2."""
    clear = [arm for arm in arms_of(table, "bias") if not 1 / CLEAR < np.divide(*strengths(arm)) < CLEAR]
    if not clear:
        raise NotMeasured("no setting with a clear order was trained on")
    right = [stronger_first(table, arm) for arm in clear]
    hits, n = int(np.all(right, axis=0).sum()), len(right[0])
    interval = proportion_interval(hits, n)
    note = f"{len(clear)} settings with a_k apart by {CLEAR:g} times and more"
    return Judgement(hits / n if n else None, interval, n, verdict_above(interval, 0.95, n), note)


def deep_order(table: pl.DataFrame) -> Judgement:
    """S2d: in how many deep nets the stronger concept is first, in both settings."""
    arms = arms_of(table, "deep")
    if not arms:
        raise NotMeasured("no deep nets were trained")
    right = np.concatenate([stronger_first(table, arm) for arm in arms])
    never = sum(int(np.isnan(per_start(table, arm, "time.1")).sum()) for arm in arms)
    return judge_every(int(right.sum()), len(right), f"concept 1 is not learned by the end in {never}" if never else "")


def slope_of(nets: str) -> Callable[[pl.DataFrame], Judgement]:
    """S3: in how many starts the slope of both log residuals is that of the closed form within 2%."""

    def judge(table: pl.DataFrame) -> Judgement:
        arms = arms_of(table, nets)
        ratios = [per_start(table, arm, f"slope.{k}") for arm in arms for k in (1, 2)]
        if not ratios or not len(ratios[0]):
            raise NotMeasured(f"no slope was fitted in {nets}")
        off = np.abs(np.stack(ratios) - 1).max(axis=0)  # [n]
        means = ", ".join(f"{np.mean(values):.4f}" for values in ratios)
        note = f"mean ratios {means}; farthest off {off.max():.3f}"
        return judge_every(int((off <= SLOPE).sum()), len(off), note)

    return judge


def predicts_times(nets: str, form: str) -> Callable[[pl.DataFrame], Judgement]:
    """S3b, S3n: the nets' median time over the form's, for both concepts; that of the concept farther off is told."""

    def judge(table: pl.DataFrame) -> Judgement:
        both = [_median_ratio(table, f"{nets}/{RELEASED}", form, k) for k in (1, 2)]
        answers = [
            Judgement(ratio, interval, n, verdict_within(interval, 1 - TIME, 1 + TIME, n), note)
            for ratio, interval, n, note in both
        ]
        worst = min(answers, key=lambda answer: (VERDICTS.index(answer.verdict), -abs((answer.estimate or 0) - 1)))
        note = "; ".join(note for *_, note in both)
        return Judgement(worst.estimate, worst.interval, worst.n, worst.verdict, note)

    return judge


def plain_form_misses(table: pl.DataFrame) -> Judgement:
    """S3c: with a bias, the nets' median time of the weak concept over what the form without a bias says."""
    ratio, interval, n, note = _median_ratio(table, f"bias/{RELEASED}", "plain", 1)
    return Judgement(ratio, interval, n, verdict_above(interval, HALF, n), note)


def own_start_predicts(table: pl.DataFrame) -> Judgement:
    """S3o: the share of nets whose times the affine form of their own start predicts within 10%, both concepts."""
    errors = per_start(table, f"bias/{RELEASED}", "own.error")
    if not len(errors):
        raise NotMeasured("no net was compared with the closed form of its own start")
    hits, n = int((errors <= TIME).sum()), len(errors)  # NaN, not learned in time, is no hit
    interval = proportion_interval(hits, n)
    note = f"median error {np.nanmedian(errors):.3f}" if np.isfinite(errors).any() else "none is learned in time"
    return Judgement(hits / n, interval, n, verdict_above(interval, 0.95, n), note)


def _median_ratio(
    table: pl.DataFrame, arm: str, form: str, concept: int
) -> tuple[float, tuple[float, float] | None, int, str]:
    """Median time of a concept over that of a closed form, its interval over starts, n, and both in words."""
    times = per_start(table, arm, f"time.{concept}")
    if not len(times):
        raise NotMeasured(f"{arm} was not trained")
    expected = told(table, arm, form, f"time.{concept}")
    late = np.nan_to_num(times, nan=1e3 * expected)  # not learned in time: later than all that are
    ratio = float(np.median(late)) / expected
    words = f"concept {concept}: {np.median(late):.2f} epochs, {form} form {expected:.2f}"
    return ratio, bootstrap_interval(late / expected, np.median, draws=2_000), len(times), words


ORDER = (
    Claim(
        "S1",
        "one layer without a bias follows Theorem 4.1 (share of starts, against an independent integration)",
        "to 1e-10",
        exact(("no-bias", "small-no-bias")),
    ),
    Claim("S1b", "one layer with a bias follows the affine closed form (share of starts)",
          "to 1e-10 (beyond the paper)", exact(("bias", "small-bias"))),
    Claim("S2", "in the closed forms the order flips at var_1 = (mu_2^2 - mu_1^2) / clusters + var_2 (share of worlds)",
          "there (within 0.1%)", closed_flip),
    Claim("S2n", "in trained layers without a bias the order flips there (var_1)", "1.05 (within 10%)",
          trained_flip("no-bias")),
    Claim("S2b", "in trained layers with a bias, as released, the order flips there (var_1)", "1.05 (within 10%)",
          trained_flip("bias")),
    Claim("S2p", "in the settings of Fig 2 the concept with the larger a_k is learned first (share of starts)",
          "always (0.95 and more)", clear_order),
    Claim("S2d", "in four linear layers too (share of nets)", "always", deep_order),
    Claim("S3", "without a bias log residuals fall with slope -a_k (share of starts within 2%)", "-a_k, within 2%",
          slope_of("small-no-bias")),
    Claim("S3a", "with a bias log residuals fall as the augmented matrix says (share of starts within 2%)",
          "with bias the augmented matrix, within 2%", slope_of("small-bias")),
    Claim("S3b", "the affine form predicts the times of released nets (median time over it, the concept farther off)",
          "within 10% (20.95 and 3.05 epochs; counted before: 21.5 and 4)", predicts_times("bias", "affine")),
    Claim("S3c", "the form without a bias misses the weak concept of released nets by half (median time over it)",
          "11.4 epochs for 21.5 measured (above 1.5)", plain_form_misses),
    Claim("S3n", "the form without a bias predicts the times of nets without one (the concept farther off)",
          "within 10%", predicts_times("no-bias", "plain")),
    Claim("S3o", "the affine form of a net's own start predicts its times within 10% (share of nets)",
          "beyond the paper (0.95 and more)", own_start_predicts),
)  # fmt: skip
