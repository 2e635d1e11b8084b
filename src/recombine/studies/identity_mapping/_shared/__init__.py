"""What the experiments of identity-mapping share."""
