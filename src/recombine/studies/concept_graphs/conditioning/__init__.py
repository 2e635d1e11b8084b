"""The experiment concept-graphs/conditioning."""
