"""Learning: from messages to facts."""
