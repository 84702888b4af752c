"""Programs around Memstone, small enough to copy and change."""
