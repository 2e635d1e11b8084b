"""Percolation of overlapping bumps, and graphs of label values."""
