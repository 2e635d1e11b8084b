"""The experiment bumps/compose-bumps."""
