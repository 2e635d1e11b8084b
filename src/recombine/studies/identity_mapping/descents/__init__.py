"""The experiment identity-mapping/descents."""
