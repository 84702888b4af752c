"""A memory that newer words have changed: its text, and behind it what was said since and when."""

from __future__ import annotations

import re
from typing import Final

MAX_CHARS: Final = 500
AMENDED: Final = re.compile(r' On \d{4}-\d\d-\d\d: "([^"]*)"\.')
"""The words behind a memory, with their day."""

SAID_ON: Final = re.compile(r" \(said on [^()]*\)")
"""The day on which something was said that holds only around then; it is no part of what was said."""


def amended(memory: str, quote: str, day: str) -> str:
    """Return a memory with newer words behind it, and when they were said; of many, the last."""
    said = " ".join(quote.split()).replace('"', "'").strip()
    base = AMENDED.sub("", memory)
    end = base if base.endswith((".", "!", "?", '"')) else f"{base}."
    more = [*(found[0] for found in AMENDED.finditer(memory)), f' On {day}: "{said}".']
    while len(more) > 1 and len(end) + sum(map(len, more)) > MAX_CHARS:
        more.pop(0)
    return end + "".join(more)
