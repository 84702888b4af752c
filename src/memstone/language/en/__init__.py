"""English: everything that only holds for it."""
