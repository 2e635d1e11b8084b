"""The experiment bumps/longer."""
