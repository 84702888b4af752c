"""Graph databases, filled from the ledger."""
