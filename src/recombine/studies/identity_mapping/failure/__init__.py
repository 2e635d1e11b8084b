"""The experiment identity-mapping/failure."""
