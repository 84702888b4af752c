"""Layers above facts: episodes, identity, the narrative."""
