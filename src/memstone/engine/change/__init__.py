"""Change what is stored: erase, mask, undo, reassign."""
