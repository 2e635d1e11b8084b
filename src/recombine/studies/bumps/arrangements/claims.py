"""The same number of labels, arranged in five ways: the claims, all of them our own questions."""

from collections.abc import Collection

from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import BySeed, Rule, above_where_least, combined, less, mean
from recombine.lab.table import Table, at_end
from recombine.runs.bump_hypotheses import GRAPH, HYPOTHESES, LINES, NEAR, OVERLAP
from recombine.worlds.holdouts import HELD_OUT, SEEN

RANDOM, PIECES, JOINED, BLOCKS, GRID = ARMS = ("random", "pieces", "joined", "blocks", "grid")
PER_ROW = 3  # labels trained on in each row and column
PREDICTED = "hypotheses"  # the arm that says what each hypothesis predicts
CLOSE = 0.1


def accuracy(table: Table, arm: str, how: str = "fine") -> BySeed:
    """The share of the places not trained on that are right at the end."""
    return _of_places(table, arm, how, NEW, HELD_OUT)


def predicted(table: Table, hypothesis: str, arm: str) -> BySeed:
    """What the hypothesis predicts of the training set of an arm."""
    return at_end(table, "predicted", hypothesis=hypothesis, training_set=arm)


def random_arms(table: Table) -> list[str]:
    """The other training sets that were drawn at random, of `percolation` and `efficiency`."""
    return [arm for arm in dict.fromkeys(table["arm"].to_list()) if arm not in (*ARMS, PREDICTED)]


def errors_of(table: Table, hypothesis: str, arms: Collection[str]) -> dict[int, float]:
    """{seed: how far the hypothesis is off, the mean over these sets}, of seeds that have all of them."""
    pairs = ((predicted(table, hypothesis, arm), accuracy(table, arm)) for arm in arms)
    errors = [combined(pair, lambda both: abs(both[0] - both[1])) for pair in pairs]
    return combined(errors, lambda each: sum(each) / len(each))


def trained_is_right(table: Table) -> dict[str, BySeed]:
    """The share right of what was trained on, by arm."""
    return {arm: _of_places(table, arm, "fine", KNOWN, SEEN) for arm in ARMS}


def more_in(more: str, fewer: str) -> Rule:
    """More of what was not trained on is right in one arm than in the other, the same seed of both."""

    def judge(table: Table) -> Judgement:
        values = less(accuracy(table, more), accuracy(table, fewer), f"{more} and {fewer}")
        beside = ", ".join(
            f"{arm} {mean(accuracy(table, arm)):.2f} (darkest {mean(accuracy(table, arm, 'darkest')):.2f})"
            for arm in (more, fewer)
        )
        return judge_above(list(values.values()), 0.0, beside)

    return judge


def predicts(hypothesis: str, random: bool = False) -> Rule:
    """What the hypothesis predicts is off by less than a tenth, the mean over arrangements or over random sets."""

    def judge(table: Table) -> Judgement:
        errors = errors_of(table, hypothesis, random_arms(table) if random else ARMS)
        if not errors:
            raise NotMeasured("no seed has all of the sets and what is predicted of them")
        beside = "" if random else "predicted (found): " + ", ".join(
            f"{arm} {mean(predicted(table, hypothesis, arm)):.2f} ({mean(accuracy(table, arm)):.2f})" for arm in ARMS
        )  # fmt: skip
        return judge_below(list(errors.values()), CLOSE, beside)

    return judge


def _of_places(table: Table, arm: str, how: str, *regions: str) -> BySeed:
    """Of the first of these regions that was measured."""
    found = (at_end(table, f"{how}.both", arm=arm, region=region) for region in regions)
    return next((values for values in found if values), {})


_SAYS = {
    OVERLAP: "bumps that overlap the largest cluster are learnt",
    NEAR: "bumps within 2 px of a trained one are learnt",
    LINES: "bumps whose row and column were trained on are learnt",
    GRAPH: "bumps whose row and column are joined by the training set are learnt",
}
_PAPER = {name: f"{'its hypothesis' if name == OVERLAP else 'not asked'} (below {CLOSE:g})" for name in HYPOTHESES}

CLAIMS = (
    Claim("AR0", "What was trained on is right in every arm (the lowest)",
          "not asked (above 0.9); without it the others say little",
          above_where_least(trained_is_right, 0.9), check=True),
    *(Claim(f"AR1-{name}", f"Five arrangements: {_SAYS[name]} (mean error)", _PAPER[name], predicts(name), check=True)
      for name in HYPOTHESES),
    Claim("AR2", "Scattered labels: more is right if rows and columns are joined than if they fall into pieces, as "
          "many labels to each (difference)", "not asked (above 0 if the graph decides)", more_in(JOINED, PIECES),
          check=True),
    Claim("AR3", "More is right if pieces are scattered over the image than if they are blocks (difference)",
          "not asked (0 if the graph, or rows and columns, decide)", more_in(PIECES, BLOCKS), check=True),
    Claim("AR4", "More is right with scattered labels than on a grid, where all are near (difference)",
          "not asked (below 0 if what is near, or overlaps, decides)", more_in(RANDOM, GRID), check=True),
    *(Claim(f"AR5-{name}", f"Random sets of all sizes, shares and widths: {_SAYS[name]} (mean error)", _PAPER[name],
            predicts(name, random=True), check=True)
      for name in HYPOTHESES),
)  # fmt: skip
