"""The text of a revision: what stays of the old sentence and what the new one brings."""

from __future__ import annotations

import re
from typing import Final

from retain.core.statement import Statement

_MORE: Final = re.compile(
    r"^ (?:as|named|called|with|in|from|since|at|for|near|who|which|that|by|on|and|because|when|after|before|every)\b"
    r"|^ (?:to|of|over)\b|^, ",
    re.IGNORECASE,
)


def merged_text(old: Statement, new: Statement, text: str) -> str:
    """The next text of a memory: the old sentence with the changed value, or the new sentence as it is.

    ``text`` is the new fact as a sentence. Where both fill the same slot and the old sentence says more than the slot
    ("works at Acme as a data scientist"), only the value changes and the rest is kept.
    """
    for slot in sorted(new.slots.keys() & old.slots.keys()):
        changed = _with_value(old.text, old.slots[slot], _as_written(new.slots[slot], text))
        if changed and len(old.slots) > len(new.slots.keys() & old.slots.keys()):
            return changed
    return text


def refines(old: str, new: str) -> bool:
    """Whether a new sentence is the old one with something added."""
    first, second = old.rstrip(" ."), new.rstrip(" .")
    if len(second) <= len(first) or not second.lower().startswith(first.lower()):
        return False
    return bool(_MORE.match(second[len(first) :]))


def _with_value(text: str, old_value: str, new_value: str) -> str:
    pattern = re.compile(rf"\b{re.escape(old_value)}\b", re.IGNORECASE)
    return pattern.sub(lambda _: new_value, text, count=1) if new_value and pattern.search(text) else ""


def _as_written(value: str, text: str) -> str:
    """A value with the capitals it was written with."""
    found = re.search(rf"\b{re.escape(value)}\b", text, re.IGNORECASE)
    return found[0] if found else ""
