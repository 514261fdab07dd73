"""Measurements. Each prints ratios taken in one run; `python -m benchmarks` runs all of them."""
