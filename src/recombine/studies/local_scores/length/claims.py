"""Length generalization (Bradley 2026): the rules."""

from collections.abc import Collection, Mapping

import numpy as np

from recombine.instruments.scenes.counting import CHANCE_ISOLATED, LEAST, RECALL, RECALL_ISOLATED, SHARE_ISOLATED
from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Rule, above, below, in_every_seed, mean
from recombine.lab.table import Table, select
from recombine.studies.local_scores._shared.label_recall import (
    BEYOND,
    HEADLINE,
    K_MAX,
    RECALLED,
    arm_of,
    longest,
    more,
    of,
    recall_by_count,
    scaled,
    with_one,
)

WHOLE = "2L whole 1-3"  # the control: a patch as large as the image
FAR = "2L far 1-3"  # a control of labels alone: a patch of 5 x 5 cells, conditioned on labels within 8
CHANNEL, FIXED = "channel", "fixed"  # variants: labels as a channel of the image; a list always from its start
MULTIPLIED, LINEAR = "multiplied", "linear"  # the embedding multiplies as in Exps 1 to 3; all of it is as theirs
FEW, MANY = (2, 3), (7, 8, 9, 10, 11, 12)  # numbers of labels at which recall of isolated labels is compared
PAPER = {  # its table of K_max: experiment, objects of a training image
    ("1", "1-3"): 7, ("2", "1"): 1, ("2", "1-3"): 2, ("2", "1-5"): 3, ("2L", "1"): 5, ("2L", "1-3"): 9,
    ("2L", "1-5"): 10, ("3", "1-3"): 3, ("3L", "1-3"): 9,
}  # fmt: skip
KEPT, NOTHING = 0.8, 0.1  # a share of the recall among few that counts as kept; so little above chance is nothing


def isolated(table: Table, arm: str, counts: Collection[int], instrument: str = RECALL_ISOLATED) -> dict[int, float]:
    """For each seed: recall, or its chance, of all isolated labels among so many."""
    recall, share = recall_by_count(table, arm, instrument), recall_by_count(table, arm, SHARE_ISOLATED)
    found = {}
    for seed in recall.keys() & share.keys():
        labels = {k: k * share[seed][k] for k in counts if k in recall[seed] and share[seed].get(k)}
        if labels:
            found[seed] = sum(recall[seed][k] * n for k, n in labels.items()) / sum(labels.values())
    if not found:
        raise NotMeasured(f"{arm} has no isolated labels")
    return dict(sorted(found.items()))


def isolated_scaled(table: Table, arm: str, counts: Collection[int] = MANY) -> dict[int, float]:
    """The same on a scale from chance 0 to 1."""
    recall, chance = isolated(table, arm, counts), isolated(table, arm, counts, CHANCE_ISOLATED)
    return {seed: scaled(recall[seed], chance[seed]) for seed in recall if seed in chance}


def off_the_paper(table: Table, instrument: str = RECALL, least: float = LEAST) -> float:
    """How far K_max by such a rule is from the paper's, the mean over the entries of its table that were measured."""
    off = []
    for entry, paper in PAPER.items():
        try:
            off.append(abs(mean(longest(table, arm_of(*entry), instrument, least)) - paper))
        except NotMeasured:
            continue
    return float(np.mean(off)) if off else float("nan")


def reaches(arm: str, bound: int) -> Rule:
    """K_max is this or more."""
    return above(of(longest, arm), bound - 0.5, lambda table: _singles(table, arm))


def stays(arm: str, bound: int) -> Rule:
    """K_max is this or less, of a model that learnt single labels."""
    return below(of(K_MAX, arm), bound + 0.5, lambda table: _singles(table, arm))


def _singles(table: Table, arm: str) -> str:
    return f"recall of single labels {mean(with_one(table, arm)):.2f}"


def _more(one: str, other: str, objects: str = HEADLINE) -> Rule:
    """Recall with more than three labels, from chance 0 to 1, is higher; both learnt single labels."""
    return more(RECALLED, arm_of(one, objects), arm_of(other, objects))


def _trained(name: str) -> Rule:
    """Recall of an experiment with 1 to 3 labels, the lowest of them."""

    def lowest(table: Table) -> Mapping[int, float]:
        found = recall_by_count(table, arm_of(name, HEADLINE))
        return {seed: min(value for k, value in curve.items() if k <= BEYOND) for seed, curve in found.items()}

    return above(lowest, 0.9)


def _among_many(name: str, lost: bool = False) -> Rule:
    """Recall of isolated labels, from chance 0 to 1: that among many, as a share of that among few.

    Models that are hardly above chance among few have nothing to keep, 0, and nothing to lose.
    """
    arm = arm_of(name, HEADLINE)

    def kept(table: Table) -> Mapping[int, float]:
        many, few = (isolated_scaled(table, arm, counts) for counts in (MANY, FEW))
        if lost and min(few.values()) <= NOTHING:
            raise NotMeasured(f"{arm} is hardly above chance among few labels: it has nothing to lose")
        return {seed: many[seed] / few[seed] if few[seed] > NOTHING else 0.0 for seed in many if seed in few}

    return (below if lost else above)(kept, KEPT, lambda t: " and ".join(_isolated(t, arm, n) for n in (MANY, FEW)))


def _more_isolated(name: str) -> Rule:
    return more(isolated_scaled, arm_of(name, HEADLINE), arm_of("1", HEADLINE))


def _isolated(table: Table, arm: str, counts: Collection[int]) -> str:
    chance = mean(isolated(table, arm, counts, CHANCE_ISOLATED))
    return f"{mean(isolated(table, arm, counts)):.2f} (chance {chance:.2f})"


def _in_order(table: Table) -> Mapping[int, float]:
    """Whether 2L and 3L go further than Exp 1, that further than Exp 3, and that at least as far as Exp 2."""
    found = _k_max_of_five(table)
    return {
        s: min(found["2L"][s], found["3L"][s]) > found["1"][s] > found["3"][s] >= found["2"][s]
        for s in sorted(set.intersection(*(set(each) for each in found.values())))
    }


def _k_max_of_five(table: Table) -> dict[str, dict[int, float]]:
    return {name: longest(table, arm_of(name, HEADLINE)) for name in ("1", "2", "3", "2L", "3L")}


def _five(table: Table) -> str:
    return "mean K_max: " + ", ".join(f"{name} {mean(each):.1f}" for name, each in _k_max_of_five(table).items())


def _finder(table: Table) -> Mapping[int, float]:
    """Recall of the finder on rendered scenes, the lowest over the numbers of objects."""
    lowest: dict[int, float] = {}
    rows = select(table, f"calibration.{RECALL}").drop_nulls("value")
    for seed, value in rows.sort("seed").select("seed", "value").iter_rows():
        lowest[seed] = min(lowest.get(seed, 1.0), value)
    if not lowest:
        raise NotMeasured("the finder was not calibrated")
    return lowest


SCALE = "recall, scale from chance 0 to 1, difference"
CLAIMS = (
    Claim("LN0", "Exp 1 draws what it was trained on: 1 to 3 labels (lowest recall).",
          "not in the paper (above 0.9)",
          _trained("1"), check=True),
    Claim("LN0f", "The object finder finds the objects of rendered scenes (lowest recall over 1 to 12 objects).",
          "not in the paper (above 0.95)",
          above(_finder, 0.95), general=True, check=True),
    Claim("LN1", "K_max comes in the paper's order: 2L and 3L above Exp 1, Exp 1 above Exp 3, and Exp 3 not below "
          "Exp 2 (share of seeds).",
          "9, 9 > 7 > 3 > 2",
          in_every_seed(_in_order, _five)),
    Claim("LN2a", "Exp 1 goes well beyond 3 labels (K_max).",
          "7 (at least 5)",
          reaches(arm_of("1", HEADLINE), 5)),
    Claim("LN2b", "Exp 2L goes well beyond 3 labels (K_max).",
          "9 (at least 6)",
          reaches(arm_of("2L", HEADLINE), 6)),
    Claim("LN2c", "Exp 3L goes well beyond 3 labels (K_max).",
          "9 (at least 6)",
          reaches(arm_of("3L", HEADLINE), 6)),
    Claim("LN2d", "Exp 2 does not go beyond 3 labels (K_max).",
          "2 (at most 3)",
          stays(arm_of("2", HEADLINE), 3)),
    Claim("LN2e", "Exp 3 hardly goes beyond 3 labels (K_max).",
          "3 (at most 4)",
          stays(arm_of("3", HEADLINE), 4)),
    Claim("LN3", "Trained on single objects, a local network (2L) goes further than a plain one (difference of "
          "K_max).",
          "5 against 1 (above 2)",
          more(K_MAX, arm_of("2L", "1"), arm_of("2", "1"), 2.0)),
    Claim("LN3b", f"Trained on single objects, 2L draws more of four and more labels than Exp 2 ({SCALE}).",
          "not in the paper (above 0)",
          _more("2L", "2", "1"),
          check=True),
    Claim("LN3c", "Trained on single objects, the local network (2L) goes to five labels (K_max).",
          "5",
          reaches(arm_of("2L", "1"), 5)),
    Claim("LN3d", "Trained on single objects, the plain network (Exp 2) stays at one label (K_max).",
          "1",
          stays(arm_of("2", "1"), 1)),
    Claim("LN4", "A patch as large as the image takes the gain of 2L away (difference of K_max).",
          "fails again (above 2)",
          more(K_MAX, arm_of(f"2L {LINEAR}", HEADLINE), WHOLE, 2.0)),
    Claim("LN4b", f"With a patch as large as the image, 2L draws fewer of four and more labels ({SCALE}).",
          "not in the paper (above 0)",
          _more(f"2L {LINEAR}", "2L whole"), check=True),
    Claim("LN4c", "With a patch as large as the image, 2L does not go beyond 3 labels (K_max).",
          "fails again (at most 3)",
          stays(WHOLE, 3)),
    Claim("LN4d", "With a patch of 5 x 5 cells but labels within 8 cells, 2L draws fewer of four and more labels as "
          f"well ({SCALE}).",
          "not in the paper (above 0)",
          _more(f"2L {LINEAR}", "2L far"), check=True),
    Claim("LN5a", f"With more than three labels Exp 1 draws more of them than Exp 2 ({SCALE}).",
          "not in the paper (above 0)",
          _more("1", "2"), check=True),
    Claim("LN5b", f"With more than three labels Exp 1 draws more of them than Exp 3 ({SCALE}).",
          "not in the paper (above 0)",
          _more("1", "3"), check=True),
    Claim("LN5c", f"With more than three labels Exp 2L draws more of them than Exp 2 ({SCALE}).",
          "not in the paper (above 0)",
          _more("2L", "2"), check=True),
    Claim("LN5d", f"With more than three labels Exp 3L draws more of them than Exp 3 ({SCALE}).",
          "not in the paper (above 0)",
          _more("3L", "3"), check=True),
    Claim("LN5e", f"With more than three labels Exp 2L draws more of them than Exp 1 ({SCALE}).",
          "not in the paper (above 0)",
          _more("2L", "1"), check=True),
    Claim("LN5f", f"With more than three labels Exp 3L draws more of them than Exp 1 ({SCALE}).",
          "not in the paper (above 0)",
          _more("3L", "1"), check=True),
    Claim("LN5g", "With more than three labels Exp 2L with an embedding that multiplies features, as in Exp 1, "
          f"draws more of them than Exp 1 ({SCALE}).",
          "not in the paper (above 0)",
          _more(f"2L {MULTIPLIED}", "1"), check=True),
    Claim("LN6a", "Exp 2L draws as many isolated labels among 7 to 12 as among 2 or 3 (recall, scale from chance 0 "
          "to 1, share kept).",
          "not in the paper (above 0.8)",
          _among_many("2L"), check=True),
    Claim("LN6b", "Exp 3L draws as many isolated labels among 7 to 12 as among 2 or 3 (share kept).",
          "not in the paper (above 0.8)",
          _among_many("3L"), check=True),
    Claim("LN6c", "Exp 1 draws fewer isolated labels among 7 to 12 than among 2 or 3 (share kept).",
          "not in the paper (below 0.8)",
          _among_many("1", lost=True), check=True),
    Claim("LN6d", f"Among 7 to 12 labels Exp 2L draws more isolated ones than Exp 1 ({SCALE}).",
          "not in the paper (above 0)",
          _more_isolated("2L"), check=True),
    Claim("LN6e", f"Among 7 to 12 labels Exp 3L draws more isolated ones than Exp 1 ({SCALE}).",
          "not in the paper (above 0)",
          _more_isolated("3L"), check=True),
    Claim("LN6f", "With labels as a channel of each patch, Exp 2L draws as many isolated labels among 7 to 12 as "
          "among 2 or 3 (share kept).",
          "not in the paper (above 0.8)",
          _among_many(f"2L {CHANNEL}"), check=True),
    Claim("LN7a", f"With labels as a channel of the image, Exp 2 goes further than with an embedding ({SCALE}).",
          "not in the paper (above 0)",
          _more(f"2 {CHANNEL}", "2"), check=True),
    Claim("LN7b", "With a list that always starts at its first slot, Exp 3 draws what it was trained on (lowest "
          "recall of 1 to 3 labels).",
          "not in the paper (above 0.9)",
          _trained(f"3 {FIXED}"), check=True),
    Claim("LN7c", "With a list that always starts at its first slot, Exp 3 hardly goes beyond 3 labels (K_max).",
          "3 (at most 4)",
          stays(arm_of(f"3 {FIXED}", HEADLINE), 4),
          check=True),
    Claim("LN8a", "Trained on 1 to 5 objects, Exp 2 does not go beyond 5 labels (K_max).",
          "3 (at most 5)",
          stays(arm_of("2", "1-5"), 5)),
    Claim("LN8b", "Trained on 1 to 5 objects, Exp 2L goes beyond 5 labels (K_max).",
          "10 (at least 7)",
          reaches(arm_of("2L", "1-5"), 7)),
    Claim("LN8c", f"Trained on 1 to 5 objects, 2L draws more of four and more labels than Exp 2 ({SCALE}).",
          "not in the paper (above 0)",
          _more("2L", "2", "1-5"), check=True),
)  # fmt: skip
