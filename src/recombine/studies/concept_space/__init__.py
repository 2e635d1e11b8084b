"""Park et al. 2024: emergence of hidden capabilities, seen as motion in concept space."""
