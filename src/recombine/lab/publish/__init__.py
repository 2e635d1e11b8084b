"""Committed evidence: publishing it, comparing with it, replications of it, and importing its runs."""
