"""Upkeep: merging, summarising, fading."""
