"""The experiment concept-space/hidden."""
