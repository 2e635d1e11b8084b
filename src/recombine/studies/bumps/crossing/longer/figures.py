"""The figures of `compose`, of other runs."""

from recombine.studies.bumps.crossing.compose.figures import draw as draw
