"""What a model makes of a text."""

from __future__ import annotations

from typing import Self


class Vector(bytes):
    """The vector of a text, little-endian float32.

    ``words`` holds a smaller vector for each of its words (signed bytes, one row after another), when the model
    gives them: a search that compares word by word sees what the mean of all words blurs.
    """

    words: bytes

    def __new__(cls, vector: bytes, words: bytes = b"") -> Self:
        """The bytes of the vector, and those of its words."""
        made = super().__new__(cls, vector)
        made.words = words
        return made
