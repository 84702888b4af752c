"""Passwords and signed tokens."""
