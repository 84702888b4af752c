"""What messages say, read without a language model."""
