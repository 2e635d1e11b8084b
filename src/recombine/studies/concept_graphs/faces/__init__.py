"""The experiment concept-graphs/faces."""
