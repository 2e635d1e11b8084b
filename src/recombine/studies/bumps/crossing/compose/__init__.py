"""The experiment bumps/compose."""
