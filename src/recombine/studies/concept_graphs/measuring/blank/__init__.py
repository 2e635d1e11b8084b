"""The experiment concept-graphs/blank."""
