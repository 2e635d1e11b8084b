"""Which pixels and labels a prediction depends on."""
