"""What the experiments of concept-graphs share."""
