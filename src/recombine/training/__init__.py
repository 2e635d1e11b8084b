"""Training: the loop, its checkpoints, and many replicas on one device."""
