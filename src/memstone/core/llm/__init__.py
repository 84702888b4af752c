"""Questions for language models, and checks of their answers."""
