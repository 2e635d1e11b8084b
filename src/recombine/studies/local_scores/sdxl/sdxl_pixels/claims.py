"""What is claimed of SDXL in pixels (Bradley 2026, Fig 4), judged on trained weights alone.

The paper gives pictures and no numbers here; the bounds are ours, set before any trained weights were measured.
"""

from recombine.lab.claims import Claim
from recombine.lab.rules import above, between, difference, final
from recombine.runs.sdxl_pixels import ARM, LOCAL, NEAR, SAME
from recombine.studies.local_scores.sdxl.trained_weights import of_trained

CLAIMS = (
    Claim("SD1", "The answer at a latent pixel depends on other pixels near it (gradient within 1/16 of the side, low "
          "noise).", "local crosses, no number (above 0.5; chance about 0.02)",
          of_trained(ARM, above(final(NEAR, level="low"), 0.5))),
    Claim("SD2", "Dependence on near pixels is strongest at low noise (gradient within 1/16 of the side, low minus "
          "high noise).",
          "especially at low noise, no number (above 0)",
          of_trained(ARM, above(difference(final(NEAR, level="low"), final(NEAR, level="high")), 0.0))),
    Claim("SD3", "Words act alike at distant places (overlap of the curves of all words at two places).",
          "nearly identical, no number (above 0.8)", of_trained(ARM, above(final(SAME), 0.8))),
    Claim("SD4", "A place does not depend more on its object's word (its share of the influence of three objects).",
          "no conditional locality, no number (1/3, from 0.23 to 0.43)",
          of_trained(ARM, between(final(LOCAL), 1 / 3 - 0.1, 1 / 3 + 0.1))),
)  # fmt: skip
