"""What the experiments of concept-space share."""
