"""The claims on real faces (Okawa et al. 2023, Fig 10)."""

from recombine.lab.claims import Claim
from recombine.studies.concept_graphs._shared.times import HEADLINE, LEARNED, by_distance, each_before_the_next, reaches

CLASSES = {"female": ("000", "001", "010", "011"), "male": ("100", "101", "110", "111")}
GENDER = {name: reaches(LEARNED, "classifier.accuracy", concept="gender", node=nodes, **HEADLINE)
          for name, nodes in CLASSES.items()}  # fmt: skip

CLAIMS = (
    Claim("O12", "faces too emerge in the order of their distance: d0, then d1, then d2 (share of seeds)",
          "d1, then d2", by_distance("classifier.product")),
    Claim("O12b", "the gender of female classes converges before that of male classes (share of seeds)",
          "Female before Male", each_before_the_next(GENDER, LEARNED)),
)  # fmt: skip
