"""Rank memories, let them fade, and decide when none is relevant."""
