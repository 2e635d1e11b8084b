"""The experiment concept-space/speed."""
