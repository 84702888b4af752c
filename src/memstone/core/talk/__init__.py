"""Messages: their forms, and what was said in them."""
