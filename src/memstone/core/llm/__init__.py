"""What a language model is asked, and what of its answers is believed."""
