"""What the experiments on a text-to-image model share, and those experiments."""
