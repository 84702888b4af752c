"""Gone for good, and proven so."""
