"""Who somebody is that is told of by name alone: "Anna", where "User's sister Anna" is known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memstone.core.text.lexicon import KIN

_NAME: Final = r"[A-ZÀ-ÖØ-Þ][\w-]"
_FIRST: Final = re.compile(
    rf"(?P<name>{_NAME}+)(?P<rest> (?!and\b|&|(?:is|was) (?:now )?(?:User's|[a-z]+'s|my|our)\b).+)$", re.DOTALL
)
_RELATED: Final = rf"(?P<who>{_NAME}*'s (?:[a-z-]+ )?(?:{'|'.join(sorted(KIN))}))(?: is(?: called| named)?|,)? "


def in_full(text: str, known: Iterable[str]) -> str:
    """A sentence that begins with a name, with whose sister or friend that is; as it is where nothing says so."""
    found = _FIRST.match(text)
    if not found:
        return text
    related = re.compile(rf"{_RELATED}{re.escape(found['name'])}\b")
    whose = {one["who"] for memory in known if (one := related.match(memory))}
    return f"{whose.pop()} {text}" if len(whose) == 1 else text
