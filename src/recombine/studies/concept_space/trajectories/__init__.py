"""The experiment concept-space/trajectories."""
