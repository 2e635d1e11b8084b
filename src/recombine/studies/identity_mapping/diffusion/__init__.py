"""The experiment identity-mapping/diffusion."""
