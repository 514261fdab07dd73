"""Families of models: how models come from rows."""
