"""Concept graphs: which unseen combinations a model learns to draw, and in what order (Okawa et al. 2023)."""
