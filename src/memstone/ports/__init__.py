"""Protocols for adapters; each docstring is a contract."""
