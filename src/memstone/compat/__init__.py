"""Other libraries' interfaces over Memstone, for code that was written for them."""
