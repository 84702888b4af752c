"""Access: who may do what, to whose memories, and how much."""
