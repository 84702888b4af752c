"""From what was said to what is known."""
