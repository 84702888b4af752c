"""What the curator knows about everyday English: word lists and small functions."""
