"""What the experiments of local-scores share."""
