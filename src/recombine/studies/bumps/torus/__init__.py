"""The experiment bumps/torus."""
