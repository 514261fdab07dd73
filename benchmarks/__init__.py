"""Benchmarks. Each prints times and ratios that are measured in one run; `python -m benchmarks` runs all of them."""
