"""The experiment bumps/percolation-theory."""
