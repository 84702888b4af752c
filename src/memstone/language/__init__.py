"""What Memstone knows of languages: the Protocol, tools for any text, English, and fitted weights."""
