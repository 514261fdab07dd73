"""Experiments: other methods, data sets, and the paper's tables."""
