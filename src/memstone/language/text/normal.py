"""The normal form of a text, by which duplicates are recognised."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memstone.model.unicode_forms import normalize_unicode

# --- when two texts say the same in the same words --------------------------------------------------------------------


_UNSEEN: Final = re.compile("[\u00ad\u200b\u2060\ufeff]")
_SINGLE_QUOTES: Final = re.compile("[\u2018\u2019\u201b\u02bc]")
_DOUBLE_QUOTES: Final = re.compile("[\u201c\u201d\u201f]")
_FINAL: Final = ".!\u3002\u0964\u06d4 "
"""Full stops (also the Chinese, Hindi and Urdu one) and exclamation marks; a question stays a question."""


AMENDED: Final = re.compile(r' On \d{4}-\d\d-\d\d: "([^"]*)"\.')
"""What stands behind a memory that was amended: the day, and the words that were said then."""


def normal_text(text: str) -> str:
    """Return the text without differences that carry no meaning.

    Unicode forms, case, white space, typographic quotes, characters nobody sees, and full stops or
    exclamation marks at the end do not count. A text of nothing but such marks keeps them.
    """
    collapsed = " ".join((text.casefold() if text.isascii() else _fold_text(text)).split())
    return collapsed.rstrip(_FINAL) or collapsed


def _fold_text(text: str) -> str:
    text = _SINGLE_QUOTES.sub("'", _DOUBLE_QUOTES.sub('"', _UNSEEN.sub("", text)))
    text = normalize_unicode("NFKC", normalize_unicode("NFD", text).casefold())
    return normalize_unicode("NFKC", text.casefold())  # folding can undo the form and the form can need folding


# --- how many model tokens a text is likely to be ---------------------------------------------------------------------


CHARS_PER_TOKEN: Final = 4


def estimate_tokens(text: object) -> int:
    """Return a quarter of the characters, rounded up; 0 for what is empty or not text.

    Good enough to keep a budget, needs no vocabulary, and never guesses too low for plain English.
    """
    return -(-len(text) // CHARS_PER_TOKEN) if isinstance(text, str) else 0


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """How large texts are, for a budget in tokens: by the estimate, or by a tokenizer in its place.

    A budget is spent in units: characters for the estimate, so that what is rounded up is only the sum, and tokens for
    a tokenizer.
    """

    tokenizer: Callable[[str], int] | None = None

    def tokens(self, text: str) -> int:
        """Return how many tokens a text has."""
        return estimate_tokens(text) if self.tokenizer is None else int(self.tokenizer(text))

    def units(self, tokens: int) -> int:
        """Return how many units a budget has."""
        return tokens * CHARS_PER_TOKEN if self.tokenizer is None else tokens

    def cost(self, text: str) -> int:
        """Return how many units a text takes."""
        return len(text) if self.tokenizer is None else int(self.tokenizer(text))


ESTIMATE: Final = TokenCounter()
"""A quarter of the characters."""
