"""Move data into and out of a store: exports, imports, copies, backups."""
