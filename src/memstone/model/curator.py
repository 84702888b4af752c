"""The interface of the curator, which learns without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Curator(Protocol):
    """A small model in this process that reads what people say. Blocking; safe to use from many threads."""

    def read_words(self, before: str, words: Sequence[str]) -> Any:
        """Return a row of numbers for each word of a message behind ``before``, as a 2-d float32 array.

        What the numbers mean is told in ``memstone.language.en.pieces``. Of a message that is too long there are fewer
        rows than words.
        """
        ...

    def read_list(self, text: str, others: Sequence[str]) -> Any:
        """Return two log odds for each of the other texts: that the text changes it, and that it says the same."""
        ...

    def judge(self, text: str) -> Any:
        """Return a number for each of ``memstone.language.en.pieces.JUDGEMENTS``: what a reader of this alone finds."""
        ...
