"""Which objects an image of a scene shows, and where."""
