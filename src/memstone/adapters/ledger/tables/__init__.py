"""The tables of the ledger, one small class each, over the SQL seam."""
