"""Computations of structured identity mapping (Yang et al. 2025): exact flows and released networks."""
