"""Names in texts, what they stand for and how they are related."""
