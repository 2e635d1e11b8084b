"""The claims of the linear denoiser: order of concepts over noise and in samples, and Swing-by inside a denoiser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every, verdict_above, verdict_below
from recombine.lab.statistics import proportion_interval
from recombine.studies.identity_mapping.phase_diagram.claims import Counts, judge_difference, judge_trend, told

if TYPE_CHECKING:
    import polars as pl

MANY, FEW = 10.0, 0.02  # sigmas: far above every spread and signal; below every spread
DEEP = ("apart", "edm", "best")
GAPS = ("1.5", "2", "3")  # where identity mapping swings by often enough to compare


def readings(table: pl.DataFrame, instrument: str) -> dict[str, list[tuple[int, float]]]:
    """{node: [(images_seen, value)], ascending} of one instrument; what was not reached is left out."""
    import polars as pl

    found: dict[str, list[tuple[int, float]]] = {}
    chosen = table.filter(pl.col("instrument") == instrument).drop_nulls("value").sort("images_seen")
    for node, seen, value in chosen.select("node", "images_seen", "value").iter_rows():
        found.setdefault(node, []).append((seen, value))
    return found


def counts(table: pl.DataFrame, instrument: str = "retreat.05") -> dict[str, Counts]:
    """{node: (so many, of so many starts)}"""
    starts = readings(table, "starts")
    return {
        node: (round(values[0][1]), round(starts[node][0][1]))
        for node, values in readings(table, instrument).items()
        if node in starts
    }


def by_gap(found: dict[str, Counts], model: str, start: str = "positive") -> dict[str, Counts]:
    """{gap: counts} of one model, gaps ascending."""
    chosen = {told(node)["gap"]: value for node, value in found.items() if _is(node, model, start)}
    return dict(sorted(chosen.items(), key=lambda item: float(item[0])))


def identity_limit(table: pl.DataFrame) -> Judgement:
    """LD1: learning times at the noisiest level against identity mapping's -log(0.2) / a."""
    times, limits = readings(table, "time"), readings(table, "limit")
    off = [abs(times[node][-1][1] / limit[0][1] - 1) for node, limit in limits.items() if node in times]
    if not off:
        raise NotMeasured("no learning times over noise")
    return judge_every(sum(gap <= 0.01 for gap in off), len(off), f"largest difference {max(off):.2g}")


def condition_unused(table: pl.DataFrame) -> Judgement:
    """LD1b: told the class, the part of the best answer that the condition has, at the least and the most noise."""
    used = {node: values for node, values in readings(table, "used").items() if told(node)["told"] == "class"}
    if not used:
        raise NotMeasured("no level says how much it uses the condition")
    kept = [values[0][1] < 0.01 and values[-1][1] > 0.99 for values in used.values()]
    least, most = max(v[0][1] for v in used.values()), min(v[-1][1] for v in used.values())
    return judge_every(sum(kept), len(kept), f"at most {least:.4f} at the least noise, at least {most:.4f} at the most")


def order_turns(table: pl.DataFrame) -> Judgement:
    """LD1c: told the class, where signal and spread disagree about the order: by signal in noise, by a + v without."""
    hits = []
    for case, (weak, strong) in _pairs(table, "class").items():
        if not _wide(case):
            continue
        for (seen, weaker), (_, stronger) in zip(weak, strong, strict=True):
            sigma = seen / 1e6
            if sigma >= MANY:
                hits.append(weaker > stronger)
            elif sigma <= FEW:
                hits.append(weaker < stronger)
    if not hits:
        raise NotMeasured("no level much above or below a spread that turns the order")
    return judge_every(sum(hits), len(hits), "one case a level and spread")


def order_stays(table: pl.DataFrame) -> Judgement:
    """LD1d: told the value, the order is that of a + v at every level."""
    hits = [
        (weaker < stronger) == _wide(case)
        for case, (weak, strong) in _pairs(table, "value").items()
        for (_, weaker), (_, stronger) in zip(weak, strong, strict=True)
    ]
    if not hits:
        raise NotMeasured("no learning times over noise")
    return judge_every(sum(hits), len(hits), "one case a level and spread")


def _generated_order(table: pl.DataFrame, telling: str) -> Judgement:
    times = {node: values[0][1] for node, values in readings(table, "time").items() if "model" in told(node)}
    hits, ratios = [], []
    for node, weak in times.items():
        strong = times.get(node.replace("concept=1", "concept=2"))
        if told(node)["told"] == telling and told(node)["concept"] == "1" and strong is not None:
            hits.append((weak < strong) == (telling == "value" and _wide(node)))
            ratios.append(weak / strong)
    if not hits:
        raise NotMeasured("no learning times in the generated mean")
    note = f"time of the weaker over that of the stronger: {min(ratios):.2f} to {max(ratios):.2f}"
    return judge_every(sum(hits), len(hits), note)


def told_class(table: pl.DataFrame) -> Judgement:
    """LD2: told the class, the stronger signal is first in the generated mean whatever the spread."""
    return _generated_order(table, "class")


def told_value(table: pl.DataFrame) -> Judgement:
    """LD2b: told the value, the order is that of a + v there too."""
    return _generated_order(table, "value")


def deep_retreats(table: pl.DataFrame) -> Judgement:
    """LD3: mu_2 = 2, one Theta inside EDM's preconditioning."""
    chosen = by_gap(counts(table), "edm").get("2")
    if chosen is None:
        raise NotMeasured("no deep denoiser at gap 2")
    interval = proportion_interval(*chosen)
    small = by_gap(counts(table, "retreat.01"), "edm")["2"]
    note = f"more than 0.01 is lost in {small[0] / small[1]:.3f}"
    return Judgement(chosen[0] / chosen[1], interval, chosen[1], verdict_above(interval, 0.5, chosen[1]), note)


def grows_with_gap(table: pl.DataFrame) -> Judgement:
    """LD3b: over the gaps, the same denoiser."""
    return judge_trend(by_gap(counts(table), "edm"), rising=True)


def never_flat_from_zero(table: pl.DataFrame) -> Judgement:
    """LD3c: one layer from zero, at every gap, weights apart and shared."""
    lost = [values[0][1] for values in readings(table, "zero").values()]
    if not lost:
        raise NotMeasured("no one-layer denoiser was followed")
    return judge_every(sum(value < 1e-9 for value in lost), len(lost), f"largest {max(lost):.2g}")


def hardly_flat_from_same(table: pl.DataFrame) -> Judgement:
    """LD3d: one layer from the same K(0), pooled over gaps and weights."""
    return _below(_pooled([by_gap(counts(table), f"flat-{model}") for model in DEEP]), 0.05)


def positive_more(table: pl.DataFrame) -> Judgement:
    """LD3e: positive against gaussian U, mu_2 = 2, one Theta."""
    starts = ("positive", "gaussian")
    lost, raised = (
        [by_gap(counts(table, name), "edm", start).get("2", (0, 0)) for start in starts]
        for name in ("retreat.05", "setback")
    )
    note = (
        " and ".join(f"{k} of {n}" for k, n in lost) + "; the loss rises in " + " and ".join(str(k) for k, _ in raised)
    )
    return judge_difference(lost[0], lost[1], note)


def comes_from_noise(table: pl.DataFrame) -> Judgement:
    """LD4: mu_2 = 2, retreats of each level's own answer, from the least to the most noise."""
    series = levels_at(table, "2")
    return judge_trend({f"{sigma:.2g}": value for sigma, value in series.items()}, rising=True)


def not_without_noise(table: pl.DataFrame) -> Judgement:
    """LD4b: pooled over the levels below sigma = 0.3."""
    low = [value for sigma, value in levels_at(table, "2").items() if sigma < 0.3]
    return _below(_pooled([{str(number): value for number, value in enumerate(low)}]), 0.05)


def levels_at(table: pl.DataFrame, gap: str) -> dict[float, Counts]:
    """{sigma: counts} of the levels' own answers at a gap, ascending."""
    found = counts(table)
    chosen = {float(told(node)["sigma"]): found[node] for node in by_level(found) if told(node)["gap"] == gap}
    return dict(sorted(chosen.items()))


def by_level(found: dict[str, Counts]) -> list[str]:
    """The nodes that are a level of positive starts."""
    return [node for node in found if _is(node, "level", "positive")]


def noisiest_is_identity(table: pl.DataFrame) -> Judgement:
    """LD5: start by start, whether more than 0.05 is lost, at the noisiest level and in identity mapping."""
    starts = by_gap(counts(table), "apart")
    alike = {told(node)["gap"]: values[0][1] for node, values in readings(table, "alike").items()}
    pooled = _pooled([{gap: (round(alike[gap]), n) for gap, (_, n) in starts.items() if gap in alike}])
    if not pooled[1]:
        raise NotMeasured("levels were not compared with identity mapping")
    interval = proportion_interval(*pooled)
    return Judgement(pooled[0] / pooled[1], interval, pooled[1], verdict_above(interval, 0.95, pooled[1]))


def less_than_identity(table: pl.DataFrame) -> Judgement:
    """LD6: identity mapping less the edm denoiser, pooled over gaps."""
    found = counts(table)
    series = {model: by_gap(found, model) for model in ("identity", *DEEP)}
    note = "; ".join(f"{model} {_listed(values)}" for model, values in series.items())
    pooled = [
        _pooled([{gap: series[model][gap] for gap in GAPS if gap in series[model]}]) for model in ("identity", "edm")
    ]
    return judge_difference(pooled[0], pooled[1], f"at mu_2 {', '.join(GAPS)}: {note}")


def _is(node: str, model: str, start: str) -> bool:
    said = told(node)
    return said.get("model") == model and said.get("start") == start


def _pairs(table: pl.DataFrame, telling: str) -> dict[str, tuple[list[tuple[int, float]], list[tuple[int, float]]]]:
    """{case: learning times over sigma of the weaker and the stronger concept}"""
    times = {node: values for node, values in readings(table, "time").items() if "model" not in told(node)}
    return {
        node: (values, times[other])
        for node, values in times.items()
        if told(node)["told"] == telling
        and told(node)["concept"] == "1"
        and (other := node.replace("concept=1", "concept=2")) in times
    }


def _wide(case: str) -> bool:
    """Whether the weaker signal has the larger second moment by its spread: v_1 > (mu_2^2 - mu_1^2) / 2 + v_2."""
    said = told(case)
    weak, strong = (float(spread) ** 2 for spread in said["spread"].split(":"))
    return weak > (float(said["gap"]) ** 2 - 1) / 2 + strong


def _pooled(series: list[dict[str, Counts]]) -> Counts:
    every = [value for each in series for value in each.values()]
    return sum(k for k, _ in every), sum(n for _, n in every)


def _below(pooled: Counts, bound: float) -> Judgement:
    if not pooled[1]:
        raise NotMeasured("nothing was counted")
    interval = proportion_interval(*pooled)
    return Judgement(pooled[0] / pooled[1], interval, pooled[1], verdict_below(interval, bound, pooled[1]))


def _listed(series: dict[str, Counts]) -> str:
    return ", ".join(f"{series[gap][0] / series[gap][1]:.3f}" for gap in GAPS if gap in series) or "not counted"


ASKED = "a question of this study"
LINEAR = (
    Claim("LD1", "in much noise a concept is learned when one-layer identity mapping learns it, within 0.01 (cases)",
          f"{ASKED}; -log(0.2) / a", identity_limit),
    Claim("LD1b", "told the class, the best denoiser makes nothing of it in little noise and all in much (cases)",
          ASKED, condition_unused),
    Claim("LD1c", "told the class, a wide weak concept is first in little noise and last in much (levels)",
          f"{ASKED}; Fig 2b has one order", order_turns),
    Claim("LD1d", "told the value, the order is that of mu^2 / s + spread^2 at every level, as in Fig 2b (levels)",
          "order by mu and sigma, Fig 2", order_stays),
    Claim("LD2", "told the class, no spread changes the order in the generated mean (cases)", ASKED, told_class),
    Claim("LD2b", "told the value, the spread changes it just where identity mapping says (cases)",
          "v_1 = (mu_2^2 - mu_1^2) / s + v_2", told_value),
    Claim("LD3", "Swing-by reaches the samples: in over half of deep denoisers more than 0.05 of the weaker concept is "
          "gained and lost again (mu_2 = 2, positive start)", ASKED, deep_retreats),
    Claim("LD3b", "it does so more often the wider the gap (widest less narrowest)", ASKED, grows_with_gap),
    Claim("LD3c", "one layer from zero never does (cases)", "no bump in one layer of small start",
          never_flat_from_zero),
    Claim("LD3d", "one layer from the same K(0) does in less than 0.05", "no bump in one layer of small start",
          hardly_flat_from_same),
    Claim("LD3e", "positive starts do so more often than Gaussian ones (mu_2 = 2)", ASKED, positive_more),
    Claim("LD4", "it comes from the noisy levels: the more noise, the more often (mu_2 = 2; most less least)", ASKED,
          comes_from_noise),
    Claim("LD4b", "levels below sigma = 0.3 do not swing by (below 0.05)", ASKED, not_without_noise),
    Claim("LD5", "start by start the noisiest level does what identity mapping does (share, above 0.95)", ASKED,
          noisiest_is_identity),
    Claim("LD6", "the samples swing by less often than identity mapping from the same U (identity less edm)", ASKED,
          less_than_identity),
)  # fmt: skip
