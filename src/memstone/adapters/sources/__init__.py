"""Read databases of other systems for an import."""
