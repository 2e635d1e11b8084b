"""The experiment local-scores/dose."""
