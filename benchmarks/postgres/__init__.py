"""How search inside PostgreSQL compares with the same SQL by itself."""
