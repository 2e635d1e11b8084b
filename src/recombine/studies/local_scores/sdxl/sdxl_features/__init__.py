"""The experiment local-scores/sdxl-features."""
