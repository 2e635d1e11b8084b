"""The experiment bumps/arrangements."""
