"""What is claimed of SDXL's features (Bradley 2026, Fig 5), judged on trained weights alone.

The paper gives pictures and no numbers here; the bounds are ours, set before any trained weights were measured.
"""

import numpy as np

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Measure, above, difference, final, largest
from recombine.lab.table import Table, select
from recombine.runs.sdxl_features import ARM, LATENT, OTHER_NOISE, PIXEL, TEXT
from recombine.studies.local_scores.sdxl.trained_weights import of_trained

END = 8  # the ends of the network: the first and the last eighth of its blocks


def middle(instrument: str, estimate: str, arm: str = ARM) -> Measure:
    """The mean over the blocks in the middle of the network."""
    return final(instrument, estimate=estimate, side="mid", arm=arm)


def gap(layer: str) -> Measure:
    """Cosines within minus between categories, in one layer."""
    return final("gap", estimate="halves", layer=layer, arm=ARM)


def arch(instrument: str, estimate: str) -> Measure:
    """How far the middle of the network is above the first and the last eighth of its blocks, whichever is higher."""

    def ends(table: Table) -> dict[int, float]:
        rows = select(table, instrument, estimate=estimate, arm=ARM).drop_nulls(["side", "value"]).sort("depth")
        if not len(rows):
            raise NotMeasured("no block was measured")
        found = {}
        for (seed,), own in rows.group_by("seed"):
            values = own.sort("depth")["value"].to_numpy()
            count = max(1, len(values) // END)
            found[int(str(seed))] = max(float(np.mean(part)) for part in (values[:count], values[-count:]))
        return found

    return difference(middle(instrument, estimate), ends)


def bias(table: Table) -> dict[int, float]:
    """How much closer to 1/2 the naive cosine between categories is than that of a split background.

    Where prompts do not share their noise the latter is unbiased; halves of few draws may not agree on the length of a
    weak direction.
    """
    naive, split = (middle("between", estimate, OTHER_NOISE)(table) for estimate in ("naive", "background"))
    return {seed: abs(split[seed] - 0.5) - abs(naive[seed] - 0.5) for seed in sorted(naive.keys() & split.keys())}


CLAIMS = (
    Claim("SD5", "Concepts of one category are closer in features than those of two (gap of cosines, mid blocks).",
          "larger within, no number (above 0)", of_trained(ARM, above(middle("gap", "halves"), 0.0))),
    Claim("SD6", "Concepts of one category are closer than those of two more so in features than in the outputs "
          "(gap in mid blocks minus the larger one of latent and pixel).",
          "more disentangled, no number (above 0)",
          of_trained(ARM, above(difference(middle("gap", "halves"), largest(gap(LATENT), gap(PIXEL))), 0.0))),
    Claim("SD7", "The ratio within / between is an arch over the blocks (naive, mid blocks minus the higher end).",
          "peak near the bottleneck, no number (above 0)", of_trained(ARM, above(arch("ratio", "naive"), 0.0))),
    Claim("SD8", "The unbiased gap is an arch over the blocks, too (mid blocks minus the higher end).",
          "not in the paper (above 0)",
          of_trained(ARM, above(arch("gap", "halves"), 0.0)), check=True),
    Claim("SD9", "Features separate categories more than the text embedding that the network receives (gap in mid "
          "blocks minus that of the text).",
          "not in the paper (above 0)",
          of_trained(ARM, above(difference(middle("gap", "halves"), gap(TEXT)), 0.0)), check=True),
    Claim("SD10", "If prompts do not share their noise, the naive cosine between categories is biased towards 1/2 (how "
          "much closer it is).",
          "not in the paper (above 0)",
          of_trained(OTHER_NOISE, above(bias, 0.0)), check=True),
)  # fmt: skip
