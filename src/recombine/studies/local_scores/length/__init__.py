"""The experiment local-scores/length."""
