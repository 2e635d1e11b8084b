"""The experiment local-scores/colours."""
