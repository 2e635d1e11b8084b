"""Projective composition: laws that compose exactly, their scores and errors."""
