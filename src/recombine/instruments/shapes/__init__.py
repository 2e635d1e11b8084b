"""Which concepts an image of one object shows."""
