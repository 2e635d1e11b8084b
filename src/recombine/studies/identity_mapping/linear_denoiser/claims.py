"""The claims of the linear denoiser: order of concepts over noise and in samples, and Swing-by inside a denoiser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every
from recombine.lab.rules import Rule
from recombine.lab.shares import Share, share_above, share_below
from recombine.lab.table import select
from recombine.lab.trends import Counts, Series, judge_trend, larger, rising, share

if TYPE_CHECKING:
    import polars as pl

MANY, FEW = 10.0, 0.02  # sigmas: far above every spread and signal; below every spread
DEEP = ("separate", "edm", "best")
GAPS = (1.5, 2.0, 3.0)  # where identity mapping swings by often enough to compare
CASE = ["gap", "spread", "strong_spread", "condition"]


def retreats(
    table: pl.DataFrame, model: str, what: str = "retreats", over: str = "gap", start: str = "positive",
    layers: int = 2, threshold: float = 0.05, **where: Any,
) -> Series:  # fmt: skip
    """{gap: starts of a model that lose the weaker concept again (or whose loss rises: setbacks), of all}; or by level,
    over="sigma".
    """
    chosen = {"model": model, "start": start, "layers": layers, **({} if over == "sigma" else {"sigma": None}), **where}
    hits = select(table, what, threshold=threshold if what == "retreats" else None, **chosen).drop_nulls(over)
    starts = dict(select(table, "starts", **chosen).select(over, "value").iter_rows())
    return {at: (round(k), round(starts[at])) for at, k in hits.sort(over).select(over, "value").iter_rows()}


def pairs(table: pl.DataFrame, instrument: str, axis: str, **where: Any) -> pl.DataFrame:
    """A row a case and level (or model): when the weaker and when the stronger concept is learned, and whether the
    weaker has the larger second moment by its spread, v_1 > (mu_2^2 - mu_1^2) / 2 + v_2.
    """
    import polars as pl

    times = select(table, instrument, **where).drop_nulls("value")
    weak, strong = (
        select(times, concept=concept).select(*CASE, axis, pl.col("value").alias(name))
        for concept, name in ((1, "weak"), (2, "strong"))
    )
    larger_by = (pl.col("gap") ** 2 - 1) / 2 + pl.col("strong_spread") ** 2
    return weak.join(strong, on=[*CASE, axis]).with_columns(wide=pl.col("spread") ** 2 > larger_by)


def _every(hits: pl.Series, missing: str, note: str) -> Judgement:
    if not len(hits):
        raise NotMeasured(missing)
    return judge_every(int(hits.sum()), len(hits), note)


def ends(values: pl.Series) -> tuple[float, float]:
    """The smallest and the largest; not a number where there is none."""
    found = values.to_numpy()
    return (float(found.min()), float(found.max())) if len(found) else (float("nan"), float("nan"))


def _identity_limit(table: pl.DataFrame) -> Judgement:
    """Learning times at the noisiest level against identity mapping's -log(0.2) / a."""
    key = [*CASE, "concept"]
    times = select(table, "level.learning_time").drop_nulls("value").sort("sigma").group_by(key).last()
    limits = select(table, "identity.learning_time").select(*key, "value")
    both = times.join(limits, on=key, suffix="_limit")
    off = (both["value"] / both["value_limit"] - 1).abs()
    return _every(off <= 0.01, "no learning times over noise", f"largest difference {ends(off)[1]:.2g}")


def _condition_unused(table: pl.DataFrame) -> Judgement:
    """The part of the best answer that the class has, at the least and the most noise."""
    used = select(table, "level.condition_used", condition="class").sort("sigma")
    parts = [used.group_by(*CASE, "concept", maintain_order=True).agg(end) for end in _first_and_last()]
    least, most = (part["value"] for part in parts)
    if not len(least):
        raise NotMeasured("no level says how much it uses the condition")
    note = f"at most {ends(least)[1]:.4f} at the least noise, at least {ends(most)[0]:.4f} at the most"
    return _every((least < 0.01) & (most > 0.99), "", note)


def _first_and_last() -> tuple[pl.Expr, pl.Expr]:
    import polars as pl

    return pl.col("value").first(), pl.col("value").last()


def _order_turns(table: pl.DataFrame) -> Judgement:
    """Given the class, where signal and spread disagree about the order: by signal in noise, by a + v without."""
    found = pairs(table, "level.learning_time", "sigma", condition="class")
    found = found.filter(found["wide"] & ((found["sigma"] >= MANY) | (found["sigma"] <= FEW)))
    hits = (found["weak"] > found["strong"]) == (found["sigma"] >= MANY)
    return _every(hits, "no level much above or below a spread that turns the order", "one case a level and spread")


def _order_stays(table: pl.DataFrame) -> Judgement:
    """Given the value, the order is that of a + v at every level."""
    found = pairs(table, "level.learning_time", "sigma", condition="value")
    hits = (found["weak"] < found["strong"]) == found["wide"]
    return _every(hits, "no learning times over noise", "one case a level and spread")


def _generated_order(condition: str) -> Rule:
    """Given the class the stronger signal is first in the generated mean; given the value, the larger a + v is."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = pairs(table, "samples.learning_time", "model", condition=condition)
        ratios = found["weak"] / found["strong"]
        hits = (ratios < 1) == (found["wide"] & (condition == "value"))
        span = "{:.2f} to {:.2f}".format(*ends(ratios))
        return _every(hits, "no learning times in the generated mean", f"time of the weaker over the stronger: {span}")

    return judge


def _never_from_zero(table: pl.DataFrame) -> Judgement:
    lost = select(table, "retreat.from_zero")["value"]
    return _every(lost < 1e-9, "no one-layer denoiser was followed", f"largest {ends(lost)[1]:.2g}")


def at_two(model: str, **where: Any) -> Share:
    """Starts that do so where mu_2 = 2."""
    return lambda table: retreats(table, model, gap=2.0, **where).get(2.0, (0, 0))


def _pooled(*series: Series) -> Counts:
    every = [counts for each in series for counts in each.values()]
    return sum(k for k, _ in every), sum(n for _, n in every)


def _one_layer(table: pl.DataFrame) -> Counts:
    return _pooled(*(retreats(table, model, layers=1) for model in DEEP))


def levels_at(table: pl.DataFrame, gap: float) -> Series:
    """{sigma: retreats of the level's own answer} at a gap, ascending."""
    return retreats(table, "separate", over="sigma", gap=gap)


def _little_noise(table: pl.DataFrame) -> Counts:
    return _pooled({sigma: counts for sigma, counts in levels_at(table, 2.0).items() if sigma < 0.3})


def _as_identity(table: pl.DataFrame) -> Counts:
    alike = dict(select(table, "as_identity").select("gap", "value").iter_rows())
    return _pooled({gap: (round(alike[gap]), n) for gap, (_, n) in retreats(table, "separate").items() if gap in alike})


def _over_gaps(model: str) -> Share:
    return lambda table: _pooled({gap: counts for gap, counts in retreats(table, model).items() if gap in GAPS})


def _by_model(table: pl.DataFrame) -> str:
    found = {model: retreats(table, model) for model in ("identity", *DEEP)}
    listed = {
        model: ", ".join(f"{share(series[gap]):.3f}" for gap in GAPS if gap in series) or "not counted"
        for model, series in found.items()
    }
    return f"at mu_2 {', '.join(f'{gap:g}' for gap in GAPS)}: {'; '.join(f'{m} {text}' for m, text in listed.items())}"


def _lost_and_risen(table: pl.DataFrame) -> str:
    starts = ("positive", "gaussian")
    lost, raised = ([at_two("edm", what=w, start=s)(table) for s in starts] for w in ("retreats", "setbacks"))
    lost_text, raised_text = " and ".join(f"{k} of {n}" for k, n in lost), " and ".join(str(k) for k, _ in raised)
    return f"{lost_text}; the loss rises in {raised_text}"


def _smaller_retreats(table: pl.DataFrame) -> str:
    return f"more than 0.01 is lost in {share(at_two('edm', threshold=0.01)(table)):.3f}"


ASKED = "a question of this study"
CLAIMS = (
    Claim("LD1", "In much noise a concept is learned when one-layer identity mapping learns it, within 0.01 (cases).",
          f"{ASKED}; -log(0.2) / a",
          _identity_limit, check=True),
    Claim("LD1b", "Given the class, the best denoiser ignores it in little noise and relies on it fully in much "
          "(cases).",
          ASKED,
          _condition_unused, check=True),
    Claim("LD1c", "Given the class, a wide weak concept is first in little noise and last in much (levels).",
          f"{ASKED}; Fig 2b has one order",
          _order_turns, check=True),
    Claim("LD1d", "Given the value, the order is that of mu^2 / s + spread^2 at every level, as in Fig 2b (levels).",
          "order by mu and sigma, Fig 2",
          _order_stays, check=True),
    Claim("LD2", "Given the class, no spread changes the order in the generated mean (cases).",
          ASKED,
          _generated_order("class"), check=True),
    Claim("LD2b", "Given the value, the spread changes the order in the generated mean just where identity mapping "
          "says (cases).",
          "v_1 = (mu_2^2 - mu_1^2) / s + v_2",
          _generated_order("value"), check=True),
    Claim("LD3", "Swing-by reaches the samples: in over half of deep denoisers more than 0.05 of the weaker concept "
          "is gained and lost again (signal ratio 2, positive start).",
          ASKED,
          share_above(at_two("edm"), 0.5, _smaller_retreats), check=True),
    Claim("LD3b", "Swing-by in samples is more frequent at a larger signal ratio (largest less smallest ratio).",
          ASKED,
          rising(lambda table: retreats(table, "edm")), check=True),
    Claim("LD3c", "One layer that starts from zero never swings by (cases).",
          "no Swing-by in one layer of small start",
          _never_from_zero,
          check=True),
    Claim("LD3d", "One layer that starts from the same K(0) as the deep denoisers swings by in less than 0.05 of "
          "the starts.",
          "no Swing-by in one layer of small start",
          share_below(_one_layer, 0.05), check=True),
    Claim("LD3e", "Positive starts swing by more often than Gaussian ones (signal ratio 2).",
          ASKED,
          larger(at_two("edm"), at_two("edm", start="gaussian"), _lost_and_risen), check=True),
    Claim("LD4", "Swing-by comes from the noisy levels: the more noise, the more often (signal ratio 2; most less "
          "least noise).",
          ASKED,
          lambda table: judge_trend({f"{sigma:.2g}": k for sigma, k in levels_at(table, 2.0).items()}, 1), check=True),
    Claim("LD4b", "Levels below sigma = 0.3 do not swing by (share below 0.05).",
          ASKED,
          share_below(_little_noise, 0.05),
          check=True),
    Claim("LD5", "Start by start the noisiest level does what identity mapping does (share, above 0.95).",
          ASKED,
          share_above(_as_identity, 0.95), check=True),
    Claim("LD6", "The samples swing by less often than identity mapping from the same U (identity less edm).",
          ASKED,
          larger(_over_gaps("identity"), _over_gaps("edm"), _by_model), check=True),
)  # fmt: skip
