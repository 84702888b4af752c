"""Old memories made shorter: which ones, and how."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

SENTENCES: Final = 3
"""So many sentences are left of a memory that is shortened."""

# An end of a sentence is followed by a blank, so that neither 3.5 nor example.org is cut in two; Chinese and Japanese
# write none.
_END: Final = re.compile(r"(?<![.!?])[.!?]++(?=\s|$)|[\u3002\uff01\uff1f]+")


def shortened(text: str) -> str | None:
    """The first three sentences of a text; None when it has no more than that, or would not get shorter."""
    sentences = [part.strip() for part in _END.split(text) if part.strip()]
    if len(sentences) <= SENTENCES:
        return None
    short = ". ".join(sentences[:SENTENCES]) + "."
    return short if len(short) < len(text) else None


def over_budget(tokens: Iterable[int], budget: int) -> list[int]:
    """The places of those that do not fit, when each is taken in turn as long as there is room for it."""
    left = budget
    over: list[int] = []
    for place, size in enumerate(tokens):
        if size <= left:
            left -= size
        else:
            over.append(place)
    return over
