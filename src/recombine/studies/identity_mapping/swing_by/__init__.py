"""The experiment identity-mapping/swing-by."""
