"""From a question to the memories that answer it, and to the block of a prompt."""
