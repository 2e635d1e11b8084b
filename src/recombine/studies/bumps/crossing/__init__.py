"""Rows and columns are seen, their crossing is not: experiments on composing two positions."""
