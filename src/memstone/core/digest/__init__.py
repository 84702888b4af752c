"""A conversation in few words: what is left of a session when only the words that were said may be used."""
