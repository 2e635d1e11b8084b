"""The experiment local-scores/sdxl-pixels."""
