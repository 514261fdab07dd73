"""Data sets of the paper, and synthetic ones whose truth is known."""
