"""Instruments: read numbers off samples, activations or the denoiser itself."""
