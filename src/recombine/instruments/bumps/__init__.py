"""What bump images show."""
