"""Who may do what, to whose memories, and how much of it."""
