"""What a model is shown, and where in its prompt."""
