"""What is done while nobody asks: merging, summing up, fading."""
