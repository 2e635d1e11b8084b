"""The experiment concept-graphs/sampler."""
