"""The experiment identity-mapping/stages."""
