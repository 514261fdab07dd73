"""A deployment on real machines: its files, keys, addresses and processes."""
