"""Executing a plan: processes, devices, resume, progress."""
