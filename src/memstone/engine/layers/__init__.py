"""What grows out of facts: episodes, identity, the narrative."""
