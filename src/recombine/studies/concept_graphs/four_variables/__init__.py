"""The experiment concept-graphs/four-variables."""
