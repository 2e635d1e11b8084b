"""The experiment local-scores/machine."""
