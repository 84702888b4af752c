"""How much a fact matters for knowing a person: who they are and how they live first, what they plan last."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memstone.core.rules.topics import topics_of

CLASSES: Final = ("pinned", "identity", "health", "family", "home", "work", "preference", "project", "other")
_OF_CATEGORY: Final = {
    "instruction": "preference",
    "style": "preference",
    "identity": "identity",
    "biography": "identity",
    "health": "health",
    "family": "family",
    "relationship": "family",
    "home": "home",
    "location": "home",
    "work": "work",
    "study": "work",
    "education": "work",
    "skill": "work",
    "preference": "preference",
    "opinion": "preference",
    "goal": "project",
    "plan": "project",
    "project": "project",
    "decision": "project",
    "date": "project",
}
_OF_TOPIC: Final = {
    "name": "identity",
    "age": "identity",
    "visa": "identity",
    "spoken": "identity",
    "illness": "health",
    "medicine": "health",
    "diet": "health",
    "alcohol": "health",
    "smoking": "health",
    "therapist": "health",
    "love": "family",
    "baby": "family",
    "household": "family",
    "pet": "family",
    "school": "family",
    "home": "home",
    "timezone": "home",
    "work": "work",
    "team": "work",
    "boss": "work",
    "study": "work",
    "favourite": "preference",
    "answers": "preference",
    "project": "project",
    "trip": "project",
    "wedding": "project",
}
_KIN: Final = re.compile(
    r"\b(?:wife|husband|partner|spouse|fianc\w+|girlfriend|boyfriend|son|daughter|child(?:ren)?|kids?|mother|father|mum|mom|dad"
    r"|parents?|sister|brother|siblings?|grand\w+|nephew|niece|aunt|uncle|cousin|twins)\b"
)


@lru_cache(maxsize=8192)  # the same facts are ranked again whenever one is added
def importance(category: str, text: str) -> int:
    """Return the place of what a fact is about in ``CLASSES``; the first is for what a person pins."""
    lowered = text.lower()
    found = {_OF_CATEGORY.get(category, "other"), *(_OF_TOPIC.get(one, "other") for one in topics_of(lowered))}
    if _KIN.search(lowered):
        found = (found | {"family"}) - {"identity"}
    return min(map(CLASSES.index, found))
