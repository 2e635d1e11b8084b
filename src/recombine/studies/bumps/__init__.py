"""Liang et al. 2024: how diffusion models learn to factorize and compose, on bumps and crossing stripes."""
