"""Find what is due: tasks and dates of the next days that are not done yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from memstone.language.en.dates import resolve_dates
from memstone.language.en.fact_text import SAID_ON
from memstone.language.text.dates import (
    TimeRef,
)
from memstone.language.text.normal import AMENDED
from memstone.language.text.tokens import document_terms, query_terms
from memstone.model.context import Due

AHEAD: Final = timedelta(days=2)

OVERDUE: Final = timedelta(days=3)
"""So far ahead something is told, and so long after its day."""

_DONE: Final = re.compile(
    r"\b(?:done|did|finished|completed|already|called|sent|paid|submitted|handed in|booked|bought|cancelled|canceled"
    r"|postponed|moved|no longer|not need|sorted|ticked off)\b",
    re.IGNORECASE,
)
_TO_DO: Final = frozenset(query_terms("user remind need have to do call please remember must should"))
_SPEAKER: Final = re.compile(r"^(?:user|assistant): ", re.IGNORECASE)


def due_day(text: str, said_at: datetime, zone: tzinfo, today: date) -> date | None:
    """Return the day of a thing to do, if it is one of these days and lay ahead when it was said."""
    said_on = said_at.astimezone(zone).date()
    days = [
        ref.last for ref in resolve_dates(SAID_ON.sub("", text), said_at, zone) if _is_day(ref) and ref.last >= said_on
    ]
    near = [day for day in days if today - OVERDUE <= day <= today + AHEAD]
    return min(near, default=None)


def _is_day(ref: TimeRef) -> bool:
    return ref.last - ref.first <= timedelta(days=1)


_USER: Final = frozenset(document_terms("user"))


def is_done(text: str, later: Iterable[str]) -> bool:
    """Return whether something that was said later says that a thing to do is done, or not to be done any more.

    What was said later may be in the memory itself, behind its day.
    """
    wanted = _content_terms(AMENDED.sub("", text))
    said_since = [*later, *AMENDED.findall(text)]
    return any(
        _DONE.search(message) and 2 * len(wanted & {*document_terms(message)}) >= len(wanted) for message in said_since
    )


def _content_terms(text: str) -> set[str]:
    found = resolve_dates(text, datetime(2000, 1, 1, tzinfo=UTC))  # only where the phrases stand matters
    for ref in reversed(found):
        text = text[: ref.start] + text[ref.end :]
    return {*query_terms(_SPEAKER.sub("", text))} - _TO_DO


def line_of_due(text: str) -> str:
    """Return what is to be done as a block tells it, without who said it."""
    return _SPEAKER.sub("", " ".join(text.split()))


def by_day(found: Sequence[Due]) -> list[Due]:
    """Return what is due, the most urgent first, each thing once, in the words of the first that tells it."""
    once = {
        (one.day, frozenset(_content_terms(one.text) - _USER) or one.text.casefold()): one for one in reversed(found)
    }
    return sorted(once.values(), key=lambda one: (one.day, one.text))
