"""The claim on four concepts (Okawa et al. 2023, Fig 16)."""

from recombine.lab.claims import Claim
from recombine.studies.concept_graphs._shared.times import by_distance

CLAIMS = (
    Claim("O11", "with four concepts too, classes emerge in the order of their distance: d0, d1, d2, d3 (share of "
          "seeds)", "d1, d2, d3 in order", by_distance("reader.product")),
)  # fmt: skip
