"""Interfaces of other libraries over Memstone, for code that was written for them."""
