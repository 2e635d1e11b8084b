"""The experiment concept-graphs/adversarial."""
