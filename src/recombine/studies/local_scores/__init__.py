"""Bradley 2026: local mechanisms of compositional generalization, on scenes of many objects and in theory."""
