"""The experiment concept-graphs/toy."""
