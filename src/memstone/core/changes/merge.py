"""The text of a revision: what stays of the old sentence and what the new one brings."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.changes.renew import kept
from memstone.core.changes.slots import same_value
from memstone.core.changes.statement import Statement, content_tokens
from memstone.core.rules.slot_patterns import STATUSES
from memstone.core.rules.stance import is_light

_MORE: Final = re.compile(
    r"^ (?:as|named|called|with|in|from|since|at|for|near|who|which|that|by|on|and|because|when|after|before|every)\b"
    r"|^ (?:to|of|over)\b|^, ",
    re.IGNORECASE,
)
_VOWELS: Final = "aeiou"


def merged_text(old: Statement, new: Statement, text: str) -> str:
    """The next text of a memory: the old sentence with the changed values, or the new sentence as it is.

    ``text`` is the new fact as a sentence. Where the old sentence says more than the slots that change ("works at Acme
    as a data scientist"), and the new one says nothing else, only the values change and the rest is kept. A new job is
    not put beside the old employer. What else it says stays where the new one
    brings nothing but another value.
    """
    if more := kept(old, new):
        return more
    mine, theirs = _values(new), _values(old)
    changed = sorted(slot for slot in mine.keys() & theirs.keys() if not same_value(mine[slot], theirs[slot]))
    tells_more = theirs.keys() > mine.keys() or _tells_beside(old, [theirs[slot] for slot in changed])
    if not changed or "job" in changed or not tells_more or _says_more(new, mine):
        return text
    merged = old.text
    for slot in changed:
        merged = _with_value(merged, theirs[slot], _as_written(mine[slot], text))
    return merged or text


def refines(old: str, new: str) -> bool:
    """Whether a new sentence is the old one with something added."""
    first, second = old.rstrip(" ."), new.rstrip(" .")
    if len(second) <= len(first) or not second.lower().startswith(first.lower()):
        return False
    return bool(_MORE.match(second[len(first) :]))


def _values(statement: Statement) -> dict[str, str]:
    return {slot: value for slot, value in statement.slots.items() if slot not in STATUSES}


def _says_more(new: Statement, values: dict[str, str]) -> bool:
    """Whether the new sentence names somebody or something, or counts, beyond the values of its slots."""
    return bool(new.numbers or new.dates or new.others or new.names - content_tokens(" ".join(values.values())))


def _tells_beside(old: Statement, values: list[str]) -> bool:
    """Whether another clause of a sentence says something that a change of these values leaves as it is."""
    first, *more = _CLAUSES.split(old.text)
    others = [part for part in (first, *more) if not any(value in part.lower() for value in values)]
    return bool(more) and any(not is_light(word) for part in others for word in content_tokens(part.lower()))


_CLAUSES: Final = re.compile(r",? and (?=(?:is|has|lives|works|studies|drives|owns|uses|plays|likes|loves|speaks)\b)")


def _with_value(text: str, old_value: str, new_value: str) -> str:
    """A text with one value for another, and the article that fits; '' where the old value does not stand in it."""
    pattern = re.compile(rf"(?:\b(an?) )?(?<!\w){re.escape(old_value)}(?!\w)", re.IGNORECASE)
    if not new_value or not pattern.search(text):
        return ""
    article = "an" if new_value[0].lower() in _VOWELS else "a"
    return pattern.sub(lambda found: f"{article} {new_value}" if found[1] else new_value, text, count=1)


def _as_written(value: str, text: str) -> str:
    """A value with the capitals it was written with."""
    found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE)
    return found[0] if found else ""
