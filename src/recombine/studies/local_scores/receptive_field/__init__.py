"""The experiment local-scores/receptive-field."""
