"""The experiment local-scores/scatter."""
