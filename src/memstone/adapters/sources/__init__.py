"""Databases of other systems, read once."""
