"""Diffusion: noise schedules, parametrisations, losses and samplers."""
