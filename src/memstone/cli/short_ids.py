"""Short ids: accept the beginning of an id if no other id begins like it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from memstone.errors import UsageError
from memstone.model.memory import LISTED

if TYPE_CHECKING:
    from memstone.literals import StatusName
    from memstone.memory import Memory

LEAST: Final = 4
"""Fewer characters are no id: most stores would have several that begin so."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LAST: Final = "\U0010ffff"
"""Comes after every other character: what begins alike stands before it."""
_STATUSES: Final = cast("tuple[StatusName, ...]", tuple(map(str, LISTED)))
_CANDIDATES: Final = 8
_PAGE: Final = 1_000
_PAGES: Final = 10


def resolve_memory_id(memory: Memory, text: str) -> str:
    """Return the one id that begins so; a text that is no beginning of any is returned as it is.

    ``UsageError`` lists the candidates where there are several.
    """
    wanted = text.strip()
    if _UUID.fullmatch(wanted) or len(wanted) < LEAST:
        return text
    begins = [{"memory.id": {"gte": wanted.lower()}}, {"memory.id": {"lt": wanted.lower() + _LAST}}]
    found = memory.review.list(everybody=True, statuses=_STATUSES, filters={"and": begins}, limit=_CANDIDATES + 1)
    return _choose_id(text, "memories", [(one["id"], one["preview"]) for one in found["results"]])


def resolve_event_id(memory: Memory, text: str) -> str:
    """Return the one event whose id begins so, among the newest ten thousand."""
    wanted = text.strip().lower()
    if _UUID.fullmatch(wanted) or len(wanted) < LEAST:
        return text
    found, cursor = list[tuple[str, str]](), 0
    for _ in range(_PAGES):
        page = memory.review.events(cursor, limit=_PAGE, everybody=True, newest_first=True)
        found += [
            (one["id"], f"{one['event']} {one['new_value'] or one['old_value'] or ''}")
            for one in page["results"]
            if one["id"].startswith(wanted)
        ]
        if len(page["results"]) < _PAGE:
            break
        cursor = page["cursor"]
    return _choose_id(text, "events", found)


def _choose_id(text: str, kind: str, found: Sequence[tuple[str, str]]) -> str:
    exact = [name for name, _ in found if name == text.strip()]
    if exact or len(found) == 1:
        return exact[0] if exact else found[0][0]
    if not found:
        return text
    listed = "".join(f"\n  {name}  {label[:60]}" for name, label in found[:_CANDIDATES])
    more = "\n  and more" if len(found) > _CANDIDATES else ""
    raise UsageError(f"several {kind} begin with {text}:{listed}{more}", hint="give more characters of the id")
