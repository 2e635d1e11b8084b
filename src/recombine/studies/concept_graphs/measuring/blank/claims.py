"""How far linear probes can be trusted on samples: the rules."""

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import BySeed, Measure, above, in_every_seed
from recombine.lab.table import Table, select
from recombine.studies.concept_graphs._shared.times import curves_of

FARTHEST = "111"
CONCEPTS = ("shape", "color", "size")
FAILURES = ("none", "several", "other")  # of objects in the image: that the reader finds


def false_share(arm: str, *kinds: str) -> Measure:
    """Of all samples of the farthest class that the probes call right, over all evaluations, the share in which the
    reader finds one of these kinds of failure.
    """

    def measure(table: Table) -> dict[int, float]:
        where = {"arm": arm, "node": FARTHEST, "sampler": None}
        right = curves_of(table, "probe.product", **where)
        parts = [curves_of(table, f"probe.product.{kind}", **where) for kind in kinds]
        shares = {
            place[0]: float(sum(part[place][1].sum() for part in parts) / values.sum())
            for place, (_, values) in right.items()
            if values.sum() > 0
        }
        if not shares:
            raise NotMeasured(f"the probes call nothing of {FARTHEST} right in arm {arm}")
        return shares

    return measure


def blank_answers(table: Table, canvas: str = "blank") -> dict[int, str]:
    """For each seed of the first arm: the values that the probes find likeliest on this canvas, in words."""
    rows = select(table, "calibration.probe.answer", canvas=canvas)
    likeliest = select(rows, arm=rows["arm"][:1]).sort("value", "answer").group_by("seed", "concept").last()
    answers: dict[int, dict[str, str]] = {}
    for seed, concept, answer in likeliest.sort("seed").select("seed", "concept", "answer").iter_rows():
        answers.setdefault(seed, {})[concept] = answer
    return {
        seed: " ".join(found[concept] for concept in CONCEPTS if concept in found) for seed, found in answers.items()
    }


def blank_is_the_farthest(table: Table) -> BySeed:
    """Whether the probes' likeliest answers to an empty canvas are those of the farthest class."""
    answers = blank_answers(table)
    if not answers:
        raise NotMeasured("the probes were not asked about an empty canvas")
    return {seed: float(found == "triangle blue small") for seed, found in answers.items()}


def _answers(table: Table) -> str:
    said = list(blank_answers(table).values())
    return "they answer: " + ", ".join(f"{answer} in {said.count(answer)}" for answer in dict.fromkeys(said))


CLAIMS = (
    Claim("B1", "with a joint embedding, most of what the probes call a right 111 holds no object (share, over "
          "training)", "beyond (above 0.5)", above(false_share("joint", "none"), 0.5), check=True),
    Claim("B2", "with the paper's embedding and continuous conditions, most of what the probes call a right 111 is not "
          "one (share, over training)", "beyond (above 0.5)", above(false_share("continuous", *FAILURES), 0.5),
          check=True),
    Claim("B2b", "the same with binary conditions", "beyond (above 0.5)", above(false_share("binary", *FAILURES), 0.5),
          check=True),
    Claim("B3", "linear probes call an empty canvas a small blue triangle, the farthest class (share of seeds)",
          "beyond; so in a probe made before", in_every_seed(blank_is_the_farthest, _answers), check=True),
)  # fmt: skip
