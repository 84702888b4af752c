"""Which memories come first, which fade, and when none will do."""
