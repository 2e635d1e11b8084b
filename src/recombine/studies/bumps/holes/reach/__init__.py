"""The experiment bumps/reach."""
