"""What callers pass, checked; what they may see."""
