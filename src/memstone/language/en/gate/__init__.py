"""Rules and weights that decide whether an English message needs memory."""
