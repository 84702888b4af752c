"""Check what callers pass, and compute what they may see."""
