"""Structured identity mapping: exact flows, closed forms, linear denoisers."""
