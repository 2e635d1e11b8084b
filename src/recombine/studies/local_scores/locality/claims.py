"""Locality of the models of length generalization (Bradley 2026, Fig 2 left): the rules."""

from collections.abc import Iterable
from functools import partial

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Rule, above, below, in_every_seed, mean
from recombine.lab.table import Table, at_end
from recombine.studies.local_scores._shared.label_recall import HEADLINE, arm_of, learnt, more, of
from recombine.studies.local_scores.length.claims import CHANNEL, FIXED, WHOLE

REMOVED, MOVED, GRADIENT = (f"locality.conditions.{way}.C" for way in ("removed", "moved", "gradient"))
WAYS = {"removed": REMOVED, "moved": MOVED, "gradient": GRADIENT}  # how the influence of a label is measured
CHANCE = {
    REMOVED: "locality.conditions.C.chance",
    MOVED: "locality.conditions.C.chance",
    GRADIENT: "locality.conditions.gradient.C.chance",
}
PIXELS, BEYOND = "locality.pixels.P", "locality.pixels.beyond"
LOCAL_MACHINE, GLOBAL_MACHINE = "machine local", "machine global"
NEAR = 2  # cells: the radius of P that claims are about
ONE = 0.999  # what counts as C = 1: on a GPU equal patches in batches of different sizes differ in their last digits


def ends(table: Table, arm: str, instrument: str) -> dict[int, float]:
    """For each seed: the value over all noise levels at the end of training."""
    radius = {"radius": NEAR} if instrument == PIXELS else {}
    found = at_end(table, instrument, arm=arm, sigma=None, **radius)
    if not found:
        raise NotMeasured(f"{instrument} of {arm} was not measured")
    return found


def excess(table: Table, arm: str, instrument: str = REMOVED) -> dict[int, float]:
    """(C - chance) / (1 - chance) for each seed: 0 if all conditions matter alike, 1 if only those that are near."""
    chance = ends(table, arm, CHANCE[instrument])
    return {s: (c - chance[s]) / (1 - chance[s]) for s, c in ends(table, arm, instrument).items() if s in chance}


def _more(one: str, other: str, instrument: str, bound: float) -> Rule:
    """One arm's value less another's is above a bound.

    A network that does not follow its labels has C at chance: both have to draw single ones.
    """
    measure = partial(ends, instrument=instrument)
    return more(learnt(measure) if instrument in CHANCE else measure, one, other, bound)


def _local(arm: str, holds: bool) -> Rule:
    """Whether C by removal is nearer to 1 than to chance."""

    def note(table: Table) -> str:
        others = ", ".join(f"by {way} {mean(excess(table, arm, WAYS[way])):.2f}" for way in ("moved", "gradient"))
        return (
            f"C {mean(ends(table, arm, REMOVED)):.2f}, chance {mean(ends(table, arm, CHANCE[REMOVED])):.2f}; {others}"
        )

    return (above if holds else below)(of(learnt(excess), arm), 0.5, note)


def _is_one(arm: str, ways: Iterable[str] = tuple(WAYS)) -> Rule:
    """C is 1 by each of these ways to measure it."""

    def lowest(table: Table) -> dict[int, float]:
        found = [ends(table, arm, WAYS[way]) for way in ways]
        return {seed: min(each[seed] for each in found) for seed in sorted(set.intersection(*map(set, found)))}

    return in_every_seed(
        lambda table: {seed: c >= ONE for seed, c in lowest(table).items()},
        lambda table: f"no chance in it; lowest C: {min(lowest(table).values()):.6f}",
    )


def _is_zero_beyond(arm: str) -> Rule:
    """No gradient leaves the patch, exactly."""
    return in_every_seed(
        lambda table: {seed: share == 0 for seed, share in ends(table, arm, BEYOND).items()},
        lambda table: f"no chance in it; largest share beyond: {max(ends(table, arm, BEYOND).values()):.1e}",
    )


def _beyond(table: Table) -> str:
    return f"share of the gradient beyond the patch: {mean(ends(table, GLOBAL_MACHINE, BEYOND)):.2f}"


EXP1, EXP2, EXP3, EXP2L, EXP3L = (arm_of(name, HEADLINE) for name in ("1", "2", "3", "2L", "3L"))
FIRST = "conditionally local, the others not (above 0.1)"
CLAIMS = (
    Claim("LC1a", "C of Exp 1 is well above that of Exp 2 (label removed, difference).",
          FIRST,
          _more(EXP1, EXP2, REMOVED, 0.1)),
    Claim("LC1b", "C of Exp 1 is well above that of Exp 3 (label removed, difference).",
          FIRST,
          _more(EXP1, EXP3, REMOVED, 0.1)),
    Claim("LC1c", "C of Exp 1 is well above that of Exp 2 also where the label is moved instead (difference).",
          "not in the paper (above 0.1)",
          _more(EXP1, EXP2, MOVED, 0.1),
          check=True),
    Claim("LC1d", "C of Exp 1 is well above that of Exp 3 also where the label is moved instead (difference).",
          "not in the paper (above 0.1)",
          _more(EXP1, EXP3, MOVED, 0.1), check=True),
    Claim("LC1e", "C of Exp 1 is well above that of Exp 2 also by the gradient to the label (difference).",
          "not in the paper (above 0.1)",
          _more(EXP1, EXP2, GRADIENT, 0.1),
          check=True),
    Claim("LC1f", "C of Exp 1 is well above that of Exp 3 also by the gradient to the label (difference).",
          "not in the paper (above 0.1)",
          _more(EXP1, EXP3, GRADIENT, 0.1), check=True),
    Claim("LC2a", "Exp 1 is conditionally local (C, label removed, scale from chance 0 to 1).",
          "local (above 0.5)",
          _local(EXP1, True)),
    Claim("LC2b", "Exp 2 is not conditionally local (C, label removed, scale from chance 0 to 1).",
          "not local (below 0.5)",
          _local(EXP2, False)),
    Claim("LC2c", "Exp 3 is not conditionally local (C, label removed, scale from chance 0 to 1).",
          "not local (below 0.5)",
          _local(EXP3, False)),
    Claim("LC3a", "In pixels Exp 1 is more local than Exp 3 (P within 2 cells, difference).",
          "local, Exp 3 not (above 0)",
          _more(EXP1, EXP3, PIXELS, 0.0)),
    Claim("LC3b", "In pixels Exp 2 is more local than Exp 3 (P within 2 cells, difference).",
          "local, Exp 3 not (above 0)",
          _more(EXP2, EXP3, PIXELS, 0.0)),
    Claim("LC4a", "Exp 2L has C = 1, by every way to measure it (share of seeds).",
          "1 by construction",
          _is_one(EXP2L),
          check=True),
    Claim("LC4b", "Exp 3L has C = 1, by every way to measure it (share of seeds).",
          "1 by construction",
          _is_one(EXP3L), check=True),
    Claim("LC4c", "No gradient leaves the 5 x 5 cells of Exp 2L (share of seeds).",
          "0 by construction",
          _is_zero_beyond(EXP2L), check=True),
    Claim("LC4d", "No gradient leaves the 5 x 5 cells of Exp 3L (share of seeds).",
          "0 by construction",
          _is_zero_beyond(EXP3L), check=True),
    Claim("LC5a", "The training-free local-score model has C = 1 (share of training sets).",
          "not in the paper (known answer)",
          _is_one(LOCAL_MACHINE, ("removed", "moved")), check=True),
    Claim("LC5b", "No gradient leaves the 5 x 5 cells of the training-free local-score model (share of training "
          "sets).",
          "not in the paper (known answer)",
          _is_zero_beyond(LOCAL_MACHINE),
          check=True),
    Claim("LC5c", "The training-free model of whole images is not conditionally local (C, scale from chance 0 to 1).",
          "not in the paper (known answer, below 0.5)",
          below(lambda table: excess(table, GLOBAL_MACHINE), 0.5, _beyond),
          check=True),
    Claim("LC6", "A patch as large as the image takes conditional locality away (C, label removed, difference to "
          "Exp 2L).",
          "not in the paper (above 0.1)",
          _more(EXP2L, WHOLE, REMOVED, 0.1), check=True),
    Claim("LC7a", "With labels as a channel of the image, Exp 1 is conditionally local (C, label removed, scale "
          "from chance 0 to 1).",
          "not in the paper (above 0.5)",
          _local(arm_of(f"1 {CHANNEL}", HEADLINE), True), check=True),
    Claim("LC7b", "With labels as a channel of the image, Exp 2 is conditionally local, with one object labelled "
          "(C, the same).",
          "not in the paper (above 0.5)",
          _local(arm_of(f"2 {CHANNEL}", HEADLINE), True), check=True),
    Claim("LC7c", "With a list that starts at its first slot, Exp 3 is not conditionally local (C, the same).",
          "not in the paper (below 0.5)",
          _local(arm_of(f"3 {FIXED}", HEADLINE), False), check=True),
)  # fmt: skip
