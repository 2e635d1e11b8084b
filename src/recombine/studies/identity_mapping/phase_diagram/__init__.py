"""The experiment identity-mapping/phase-diagram."""
