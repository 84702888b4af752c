"""Messages: their shapes, their checked form, and what was said where in them."""
