"""Comparisons of methods on a user's table, and the experiments of the paper."""
