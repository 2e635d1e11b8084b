"""The experiment local-scores/soft."""
