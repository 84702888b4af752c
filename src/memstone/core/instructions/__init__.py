"""Instructions for a use case."""
