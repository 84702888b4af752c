"""Times that a text speaks of."""
