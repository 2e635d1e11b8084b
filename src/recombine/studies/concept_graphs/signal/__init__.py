"""The experiment concept-graphs/signal."""
