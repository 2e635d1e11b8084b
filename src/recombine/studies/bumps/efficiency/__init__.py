"""The experiment bumps/efficiency."""
