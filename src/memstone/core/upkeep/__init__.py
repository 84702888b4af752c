"""What becomes of memories over time."""
