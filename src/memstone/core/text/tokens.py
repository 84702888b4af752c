"""How many model tokens a text is likely to be."""

from __future__ import annotations

from typing import Final

CHARS_PER_TOKEN: Final = 4


def estimate_tokens(text: object) -> int:
    """A quarter of the characters, rounded up; 0 for what is empty or not text.

    Good enough to keep a budget, needs no vocabulary, and never guesses too low for plain English.
    """
    return -(-len(text) // CHARS_PER_TOKEN) if isinstance(text, str) else 0
