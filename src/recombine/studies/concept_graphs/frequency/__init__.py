"""The experiment concept-graphs/frequency."""
