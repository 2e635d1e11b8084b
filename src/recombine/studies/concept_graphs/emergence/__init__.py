"""The experiment concept-graphs/emergence."""
