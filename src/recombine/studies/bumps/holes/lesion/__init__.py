"""The experiment bumps/lesion."""
