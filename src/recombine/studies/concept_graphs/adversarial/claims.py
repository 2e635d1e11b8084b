"""The claims of the adversarial split and of fine-tuning after it (Okawa et al. 2023, Fig 9)."""

from typing import Any

from recombine.lab.claims import Claim
from recombine.lab.rules import Measure, above, average, below, final, noted
from recombine.studies.concept_graphs.adversarial.experiment import BASE, CLASSES

TRAINED = ("000", "010", "100", "111")
SMALL_CIRCLES = ("001", "011")


def at_end_of(arm: str, instrument: str = "reader.product", **where: Any) -> Measure:
    """What the reader finds at the end of an arm in the classes that were trained first, or in others."""
    return final(instrument, **{"arm": arm, "node": TRAINED, "sampler": None, **where})


def small_circles(arm: str, instrument: str, **where: Any) -> Measure:
    """What the reader finds at the end of an arm in images that were asked to be small circles."""
    return at_end_of(arm, instrument, node=SMALL_CIRCLES, **where)


LEARNED = [at_end_of(f"{node}-mixed", node=node) for node in SMALL_CIRCLES]
OTHER_COLOR = [at_end_of("001-mixed", node="011"), at_end_of("011-mixed", node="001")]
CIRCLES = noted(
    "circles in {:.2f} of the images", small_circles(BASE, "reader.answer", concept="shape", answer="circle")
)
SIZE_BEFORE = noted(
    "before fine-tuning {:.2f}; images without an object {:.2f}",
    small_circles(BASE, "reader.accuracy", concept="size"),
    small_circles("110", "reader.none"),
)
BEFORE = noted("before fine-tuning {:.2f}", at_end_of(BASE))
NOT_SHOWN = noted("the small circle of the other colour, which was not trained on: {:.2f}", average(*OTHER_COLOR))

CLAIMS = (
    Claim("O9", "asked for small circles, a model that saw small only with triangles draws triangles (share of images)",
          "above 0.5", above(small_circles(BASE, "reader.answer", concept="shape", answer="triangle"), 0.5, CIRCLES)),
    Claim("O10a", "fine-tuned on large blue triangles alone, it still does not draw small circles small (share of "
          "images)", "size is still not learned (below 0.5)",
          below(small_circles("110", "reader.accuracy", concept="size"), 0.5, SIZE_BEFORE)),
    Claim("O10b", "fine-tuned on small circles of one colour alone, it forgets the classes it knew (their accuracy)",
          "old concepts are overwritten (below 0.5)", below(average(*map(at_end_of, SMALL_CIRCLES)), 0.5, BEFORE)),
    Claim("O10c", "fine-tuned on a new class mixed with the old data, it keeps the classes it knew (their accuracy)",
          "beyond the paper (above 0.8)", above(average(*(at_end_of(f"{node}-mixed") for node in CLASSES)), 0.8),
          check=True),
    Claim("O10d", "and learns the small circle it is shown (accuracy)", "beyond the paper (above 0.8)",
          above(average(*LEARNED), 0.8, NOT_SHOWN), check=True),
)  # fmt: skip
