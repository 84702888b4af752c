"""Measurements of Retain beside something real; nothing here is shipped."""
