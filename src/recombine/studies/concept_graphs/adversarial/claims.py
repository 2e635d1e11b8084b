"""The claims of the adversarial split and of fine-tuning after it (Okawa et al. 2023, Fig 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.table import at_end

if TYPE_CHECKING:
    import polars as pl

TRAINED = ("000", "010", "100", "111")
SMALL_CIRCLES = ("001", "011")


def triangles_instead(table: pl.DataFrame) -> Judgement:
    """O9: of the images asked to be small circles, how many hold one triangle."""
    triangles = _end(table, "reader.shape=triangle", "adversarial", SMALL_CIRCLES)
    circles = _end(table, "reader.shape=circle", "adversarial", SMALL_CIRCLES)
    note = f"circles in {_mean(circles):.2f} of the images"
    return judge_above(list(triangles.values()), 0.5, note)


def size_still_wrong(table: pl.DataFrame) -> Judgement:
    """O10a: after fine-tuning on large blue triangles alone, how often a small circle is small."""
    size = _end(table, "reader.size", "110", SMALL_CIRCLES)
    empty = _mean(_end(table, "reader.none", "110", SMALL_CIRCLES))
    before = _mean(_end(table, "reader.size", "adversarial", SMALL_CIRCLES))
    return judge_below(
        list(size.values()), 0.5, f"before fine-tuning {before:.2f}; images without an object {empty:.2f}"
    )


def forgets(arms: tuple[str, ...]) -> Callable[[pl.DataFrame], Judgement]:
    """O10b: product accuracy of the classes that were trained first, after fine-tuning; the mean of these arms."""

    def judge(table: pl.DataFrame) -> Judgement:
        kept = _over_arms(table, arms, TRAINED)
        return judge_below(kept, 0.5, f"before fine-tuning {_mean(_end(table, 'reader.product', 'adversarial')):.2f}")

    return judge


def mixing_keeps(table: pl.DataFrame) -> Judgement:
    """O10c: the same where the new class was mixed with the old data."""
    return judge_above(_over_arms(table, ("001-mixed", "011-mixed", "110-mixed"), TRAINED), 0.8)


def mixing_learns(table: pl.DataFrame) -> Judgement:
    """O10d: how well the small circle is drawn that was mixed into the data; the mean of both colours."""
    shown, other = (
        [_end(table, "reader.product", f"{new}-mixed", (node,)) for new, node in zip(SMALL_CIRCLES, nodes, strict=True)]
        for nodes in (SMALL_CIRCLES, SMALL_CIRCLES[::-1])
    )
    note = f"the small circle of the other colour, which was not seen: {sum(map(_mean, other)) / len(other):.2f}"
    return judge_above(_by_seed(shown), 0.8, note)


def _end(table: pl.DataFrame, instrument: str, arm: str, nodes: tuple[str, ...] = TRAINED) -> dict[int, float]:
    found = at_end(table, instrument, arm, nodes)
    if not found:
        raise NotMeasured(f"{instrument} of arm {arm} was not measured")
    return found


def _over_arms(table: pl.DataFrame, arms: tuple[str, ...], nodes: tuple[str, ...]) -> list[float]:
    return _by_seed([_end(table, "reader.product", arm, nodes) for arm in arms])


def _by_seed(found: list[dict[int, float]]) -> list[float]:
    """One value a seed: the mean over arms; a seed that lacks an arm is left out."""
    shared = [seed for seed in found[0] if all(seed in one for one in found)]
    if not shared:
        raise NotMeasured("no seed has all the arms that are averaged")
    return [sum(one[seed] for one in found) / len(found) for seed in shared]


def _mean(values: dict[int, float]) -> float:
    return sum(values.values()) / len(values)


ADVERSARIAL = (
    Claim(
        "O9",
        "asked for small circles, a model that saw small only with triangles draws triangles (share of images)",
        "above 0.5",
        triangles_instead,
    ),
    Claim(
        "O10a",
        "fine-tuned on large blue triangles alone, it still does not draw small circles small (share of images)",
        "size is still not learned (below 0.5)",
        size_still_wrong,
    ),
    Claim(
        "O10b",
        "fine-tuned on small circles of one colour alone, it forgets the classes it knew (their accuracy)",
        "old concepts are overwritten (below 0.5)",
        forgets(("001", "011")),
    ),
    Claim(
        "O10c",
        "fine-tuned on a new class mixed with the old data, it keeps the classes it knew (their accuracy)",
        "beyond the paper (above 0.8)",
        mixing_keeps,
    ),
    Claim(
        "O10d",
        "and learns the small circle it is shown (accuracy)",
        "beyond the paper (above 0.8)",
        mixing_learns,
    ),
)
