"""The experiment identity-mapping/linear-denoiser."""
