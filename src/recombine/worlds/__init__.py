"""Worlds: data-generating processes, factor values in, images and conditions out."""
