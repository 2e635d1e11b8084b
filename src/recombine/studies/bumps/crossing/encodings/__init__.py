"""The experiment bumps/encodings."""
