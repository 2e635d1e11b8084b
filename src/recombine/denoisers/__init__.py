"""Denoisers: anything that answers denoise(x, sigma, condition) -> x0."""
