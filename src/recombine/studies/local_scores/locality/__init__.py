"""The experiment local-scores/locality."""
