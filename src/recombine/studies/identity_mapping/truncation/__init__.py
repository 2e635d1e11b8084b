"""The experiment identity-mapping/truncation."""
