"""Measurements of Memstone beside something real; nothing here is shipped."""
