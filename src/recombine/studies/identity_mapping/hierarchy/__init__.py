"""The experiment identity-mapping/hierarchy."""
