"""The experiment bumps/exact."""
