"""Whether an English message needs memory: rules over the user's own words, and weights."""
