"""Settings that live in the store: their names, what they may be, and what follows when several are set. Pure."""
