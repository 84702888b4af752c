"""English: everything that is specific to it."""
