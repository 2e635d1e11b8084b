"""What one training is: its config, its images, its network, and what is measured on the way."""
