"""Languages: the Protocol, tools for any text, English, and fitted weights."""
