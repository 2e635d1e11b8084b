"""Judging, drawing and reporting: figures, pages, and what a report needs."""
