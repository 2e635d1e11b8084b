"""Lab: config, store, plan, engines, claims, figures and report."""
