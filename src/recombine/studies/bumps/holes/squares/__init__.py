"""The experiment bumps/squares."""
