"""The experiment bumps/percolation."""
