"""Yang et al. 2025: structured identity mapping, Swing-by, and the way from there to diffusion."""
