"""Data to try comity on."""
