"""What the experiments of bumps share."""
