"""Back to how it was."""
