"""What activations inside a network look like: geometry, topology, features."""
