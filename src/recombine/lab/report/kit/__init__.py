"""What figures are made of: style, axes, curves, bars and sheets of samples."""
