"""The claims of the phase diagram: how the share of bumps moves, each along one axis with the others fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every, verdict_above, verdict_below
from recombine.lab.statistics import Interval, proportion_interval

if TYPE_CHECKING:
    import polars as pl

Counts = tuple[int, int]
"""So many of so many."""
Cells = dict[str, dict[str, float]]
"""{node: {instrument: value}}"""

BASE = {"scale": "0.2", "start": "positive", "h": "3", "d": "3", "model": "tied", "size": "plain", "power": "1"}
"""The released script's start, with A."""
GRID = {key: value for key, value in BASE.items() if key not in ("scale", "power")}


def cells(table: pl.DataFrame) -> Cells:
    """Everything counted, by cell; of a cell that two arms have, with the same starts, the one with more of them."""
    by_arm: dict[tuple[str, str], dict[str, float]] = {}
    for arm, node, instrument, value in table.select("arm", "node", "instrument", "value").iter_rows():
        by_arm.setdefault((arm, node), {})[instrument] = value
    found: Cells = {}
    for (_, node), values in by_arm.items():
        if values.get("flows", 0) > found.get(node, {}).get("flows", 0):
            found[node] = values
    return found


def where(found: Cells, **fixed: str) -> Cells:
    """The cells whose name says all this."""
    return {node: values for node, values in found.items() if fixed.items() <= told(node).items()}


def told(node: str) -> dict[str, str]:
    """ "gap=2,scale=0.2" -> {"gap": "2", "scale": "0.2"}"""
    return dict(part.split("=", 1) for part in node.split(","))


def counted(chosen: Cells, hits: str = "bumps", of: str = "flows") -> Counts:
    """The sum over cells, where both were counted."""
    both = [values for values in chosen.values() if hits in values and of in values]
    return round(sum(values[hits] for values in both)), round(sum(values[of] for values in both))


def along(found: Cells, key: str, fixed: Mapping[str, str]) -> dict[str, Counts]:
    """Bumps at each value of one key, in growing order of numbers, the rest fixed or summed over."""
    chosen = where(found, **{name: value for name, value in fixed.items() if name != key})
    values = sorted({told(node)[key] for node in chosen}, key=_order)
    return {value: counted(where(chosen, **{key: value})) for value in values}


def difference(more: Counts, less: Counts) -> Interval:
    """An interval of at least 95% for the difference of two shares: between the ends of two exact ones of 97.5%."""
    (low, high), (lower, upper) = (proportion_interval(*counts, level=0.975) for counts in (more, less))
    return low - upper, high - lower


def judge_difference(more: Counts, less: Counts, note: str = "") -> Judgement:
    """The judgement of "the first share is larger"; n is the smaller count."""
    if not more[1] or not less[1]:
        raise NotMeasured("one of the two shares was not counted")
    n = min(more[1], less[1])
    interval = difference(more, less)
    return Judgement(_share(more) - _share(less), interval, n, verdict_above(interval, 0, n), note)


def judge_trend(series: Mapping[str, Counts], rising: bool) -> Judgement:
    """Whether shares rise (fall): the ends differ and no two neighbours are clearly apart the other way."""
    if len(series) < 2:
        raise NotMeasured("fewer than two values along this axis were counted")
    listed = list(series.values()) if rising else list(series.values())[::-1]
    note = ", ".join(f"{value}: {_share(counts):.3f}" for value, counts in series.items())
    judged = judge_difference(listed[-1], listed[0], note)
    back = [i for i in range(len(listed) - 1) if difference(listed[i], listed[i + 1])[0] > 0]
    if back and judged.verdict == "holds":
        return Judgement(judged.estimate, judged.interval, judged.n, "fails", f"not monotone; {note}")
    return judged


def falls_along(key: str, **changed: str) -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "the share falls along this axis", from the released start with some of it changed."""
    return lambda table: judge_trend(along(cells(table), key, {**BASE, **changed}), rising=False)


def falls_with_dimension(**changed: str) -> Callable[[pl.DataFrame], Judgement]:
    """The same along d, where U is as wide as d."""
    fixed = {name: value for name, value in {**BASE, **changed}.items() if name != "h"}

    def judge(table: pl.DataFrame) -> Judgement:
        square = {node: values for node, values in cells(table).items() if told(node)["h"] == told(node)["d"]}
        return judge_trend(along(square, "d", fixed), rising=False)

    return judge


def grows_with_gap(table: pl.DataFrame) -> Judgement:
    """PH1: along the gap, at the released start."""
    return judge_trend(along(cells(table), "gap", BASE), rising=True)


def small_starts(table: pl.DataFrame) -> Judgement:
    """PH2: the share at the smallest scale of all, mu_2 = 2."""
    series = along(cells(table), "scale", {**BASE, "gap": "2"})
    if not series:
        raise NotMeasured("no scales at gap 2 were counted")
    scale, counts = next(iter(series.items()))
    interval = proportion_interval(*counts)
    return Judgement(_share(counts), interval, counts[1], verdict_above(interval, 0.8, counts[1]), f"scale {scale}")


def squared_more(table: pl.DataFrame) -> Judgement:
    """PH3: over the cells that both have."""
    grid = where(cells(table), **GRID)
    shared = {node for node in grid if _other_power(node) in grid}
    by_power = {power: counted({n: grid[n] for n in shared if told(n)["power"] == power}) for power in "12"}
    return judge_difference(by_power["2"], by_power["1"], _said(by_power))


def positive_more(table: pl.DataFrame) -> Judgement:
    """PH4: positive against gaussian, over the gaps of both."""
    found = {start: where(cells(table), **{**BASE, "start": start}) for start in ("positive", "gaussian")}
    gaps = {told(node)["gap"] for node in found["gaussian"]}
    both = {
        start: counted({node: values for node, values in chosen.items() if told(node)["gap"] in gaps})
        for start, chosen in found.items()
    }
    return judge_difference(both["positive"], both["gaussian"], _said(both))


def less_below_zero(table: pl.DataFrame) -> Judgement:
    """PH4b: from positive to symmetric, over the gaps of the cut."""
    found = where(cells(table), **{key: value for key, value in BASE.items() if key != "start"})
    gaps = {told(node)["gap"] for node in where(found, start="symmetric")}
    kept = {node: values for node, values in found.items() if told(node)["gap"] in gaps}
    starts = ("positive", "quarter", "half", "symmetric")
    series = {start: counted(where(kept, start=start)) for start in starts}
    return judge_trend({start: counts for start, counts in series.items() if counts[1]}, rising=False)


def wide_gaussian_never(table: pl.DataFrame) -> Judgement:
    """PH5: the share at width 64, gaussian, mu_2 = 1.5, scale as it is."""
    counts = counted(where(cells(table), **{**BASE, "gap": "1.5", "start": "gaussian", "h": "64"}))
    if not counts[1]:
        raise NotMeasured("no gaussian start of width 64 at gap 1.5 was counted")
    interval = proportion_interval(*counts)
    return Judgement(_share(counts), interval, counts[1], verdict_below(interval, 0.05, counts[1]))


def prediction_agrees(table: pl.DataFrame) -> Judgement:
    """PH6: in what share of the grid's flows the analytic curve bumps where the flow does."""
    grid = where(cells(table), **GRID)
    counts = counted(grid, "agree")
    if not counts[1]:
        raise NotMeasured("no flow was predicted")
    judged = {node: counted({node: values}, "agree") for node, values in grid.items() if "agree" in values}
    worst = min(judged, key=lambda node: _share(judged[node]))
    gap, scale, power = (told(worst)[key] for key in ("gap", "scale", "power"))
    note = f"worst cell {_share(judged[worst]):.3f} (gap {gap}, scale {scale}, A^{power})"
    interval = proportion_interval(*counts)
    return Judgement(_share(counts), interval, counts[1], verdict_above(interval, 0.95, counts[1]), note)


def deeper_more(table: pl.DataFrame) -> Judgement:
    """PH7: four matrices against two, over gaps and starts."""
    by_depth = {layers: counted(where(cells(table), model=f"net{layers}")) for layers in "234"}
    return judge_difference(by_depth["4"], by_depth["2"], _said(by_depth))


def gaussian_helped(table: pl.DataFrame) -> Judgement:
    """PH9: how many of the gaussian starts that bump, tied, have a positive minor."""
    counts = counted(where(cells(table), start="gaussian", model="tied"), "bumps.helped", "bumps")
    if not counts[1]:
        raise NotMeasured("no gaussian start bumps")
    interval = proportion_interval(*counts)
    return Judgement(_share(counts), interval, counts[1], verdict_above(interval, 0.95, counts[1]))


def training_never_rises(table: pl.DataFrame) -> Judgement:
    """PH10: over every flow and net."""
    rises, flows = counted(cells(table), "rises")
    if not flows:
        raise NotMeasured("no training loss was followed")
    return judge_every(flows - rises, flows, f"{flows:,} flows and nets in all")


def _share(counts: Counts) -> float:
    return counts[0] / counts[1]


def _said(series: Mapping[str, Counts]) -> str:
    return ", ".join(f"{name}: {_share(counts):.3f}" for name, counts in series.items() if counts[1])


def _other_power(node: str) -> str:
    head, power = node.rsplit("=", 1)
    return f"{head}={3 - int(power)}"


def _order(value: str) -> tuple[float, str]:
    try:
        return float(value), ""
    except ValueError:
        return 0.0, value


PHASE = (
    Claim("PH1", "the share of flows that bump grows with the gap (positive start of 1/5, A; widest less narrowest)",
          "a question of this study; counted before: 1, 37, 84, 98% at 1.1, 1.5, 2, 3", grows_with_gap),
    Claim("PH2", "small starts make it the rule: above 0.8 at the smallest scale (mu_2 = 2, A)",
          "a question of this study; counted before: >= 80% in nets of small start", small_starts),
    Claim("PH2b", "the smaller the start, the larger the share (mu_2 = 2, A; smallest less largest)",
          "a question of this study", falls_along("scale", gap="2")),
    Claim("PH2c", "the same with a small gap (mu_2 = 1.2, A)", "a question of this study",
          falls_along("scale", gap="1.2")),
    Claim("PH3", "more flows bump with the released script's A^2 than with A (same starts, whole grid)",
          "a question of this study; counted before: 89% against 37% at mu_2 = 1.5", squared_more),
    Claim("PH4", "more positive starts bump than Gaussian ones",
          "a question of this study; counted before: 37% against 10%", positive_more),
    Claim("PH4b", "the further entries reach below zero, the fewer bump (uniform starts)", "a question of this study",
          less_below_zero),
    Claim("PH5", "wide Gaussian starts do not bump: below 0.05 at width 64 (mu_2 = 1.5)", "counted before: 0%",
          wide_gaussian_never),
    Claim("PH5b", "Gaussian: the wider U at equal size of W(0), the fewer bump (mu_2 = 2)", "a question of this study",
          falls_along("h", start="gaussian", size="even", gap="2")),
    Claim("PH5c", "positive: the wider U at equal size of W(0), the fewer bump (mu_2 = 2)", "a question of this study",
          falls_along("h", size="even", gap="2")),
    Claim("PH6", "the analytic curve says which start bumps, in at least 0.95 of the flows of the grid",
          "a question of this study", prediction_agrees),
    Claim("PH7", "deeper nets bump more often (four matrices less two)", "a question of this study", deeper_more),
    Claim("PH8", "more idle dimensions make it rarer (Gaussian, h = d, mu_2 = 2)",
          "a question of this study; counted before: none in nets of d = 64",
          falls_with_dimension(start="gaussian", gap="2")),
    Claim("PH8b", "the same for positive starts of equal size", "a question of this study",
          falls_with_dimension(size="even", gap="2")),
    Claim("PH9", "a Gaussian start bumps only with a positive minor w_12 (share of those that bump, above 0.95)",
          "a question of this study", gaussian_helped),
    Claim("PH10", "the training loss never rises meanwhile (share of flows and nets)", "monotone in Fig 17",
          training_never_rises),
)  # fmt: skip
