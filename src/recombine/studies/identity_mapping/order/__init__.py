"""The experiment identity-mapping/order."""
