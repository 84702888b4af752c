"""Settings in the store: their names, valid values, and precedence."""
