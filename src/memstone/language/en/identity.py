"""Decide which statements say who somebody is, how important they are, and which last."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memstone.language.en.changes import parse_statement, slots_of
from memstone.language.en.stance import topics_of
from memstone.language.en.verbs import is_past
from memstone.model.fact import CLASSES

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

_OF_SELF: Final = re.compile(
    r"(?!(?:the )?user(?:'s (?!(?:\w+ )?(?:\w*names?|age|birthday|pronouns?|nationality|visa|languages?)\b)"
    r"| (?:has|had|owns?|bought|restor\w+|is restoring|is building|named|calls (?:his|her|their|the))\b))"
)
"""What is not about something of the user's: a dog that is called something is not who the user is."""


@lru_cache(maxsize=8192)  # the same facts are ranked again whenever one is added
def importance_rank(category: str, text: str) -> int:
    """Return the place of what a fact is about in ``CLASSES``; the first is for what a person pins."""
    lowered = text.lower()
    found = {_OF_CATEGORY.get(category, "other"), *(_OF_TOPIC.get(one, "other") for one in topics_of(lowered))}
    if _KIN.search(lowered):
        found = (found | {"family"}) - {"identity"}
    elif not _OF_SELF.match(lowered):
        found -= {"identity"}
    return min(map(CLASSES.index, found), default=CLASSES.index("other"))


_OF_A_PERSON: Final = frozenset({"name", "home", "employer", "trade", "age", "marriage", "birthday"})
_PASSING: Final = frozenset({"past", "once"})
_UNREAL: Final = frozenset({"planned", "wished", "supposed"})

_VERB: Final = re.compile(
    r"(?:user|i|we) (?:\w+ly |now |just |still |also |has |have )*"
    r"(?:(?P<leaves>got|adopted|became|become|joined|started|quit|stopped|retired|gave up|given up|turned(?= \d)"
    r"|(?:was|been) diagnosed)\b"
    r"|(?P<going_on>(?:is|am|are) (?:\w+ly |now |just |still )?\w{2,}ing\b)|(?P<verb>\w+))"
)
"""The verb of a statement about the user. What some of them tell has happened, and holds since."""


def identity_category(category: str, text: str) -> str:
    """Return the category of a fact in an identity: what somebody eats, drinks or suffers from is their health."""
    is_health = category == "preference" and CLASSES[importance_rank(category, text)] == "health"
    return "health" if is_health else category


def is_lasting(text: str) -> bool:
    """Return whether a statement tells how somebody lives, and not what happened, is going on or is planned.

    "Moved to Bergen" is how they live now: what a person has one of counts however it is told.
    """
    statement = parse_statement(text)
    if any(one.slot in _OF_A_PERSON for one in slots_of(statement)):
        return True
    verb = _VERB.match(statement.plain_text)
    if verb is not None and verb["leaves"]:
        return not statement.modalities & _UNREAL
    happened = verb is not None and (verb["going_on"] is not None or is_past(verb["verb"]))
    return not happened and not statement.modalities & (_PASSING | _UNREAL)


# --- whom a fact is about ---------------------------------------------------------------------------------------------


_NOT_SELF: Final = re.compile(
    r"(?:the )?user(?: (?:has|had|will|wants?|plans?)\b"
    r"|'s (?!(?:\w+ )?(?:\w*name|age|birthday|pronouns?|job|role|home|employer|address|profession|nationality)\b))"
)
"""How a fact begins that is about something of the user's."""

_STANDS: Final = re.compile(r"(?:the )?user (?:\w+ly |now |still |also )*(?:lives?|works?|is based|is an?|comes) ")
_A_THING: Final = ("The ", "A ", "An ", "This ", "That ")
"""How a sentence begins whose subject is no person."""


def is_of_self(text: str) -> bool:
    """Return whether a fact may be about the user and not about something of theirs."""
    return _NOT_SELF.match(text.lower()) is None


def tells_life(text: str) -> bool:
    """Return whether a fact says where or as what the user lives or works, whatever its category."""
    return _STANDS.match(text.lower()) is not None


def is_of_thing(text: str) -> bool:
    """Return whether the subject of a sentence is no person."""
    return text.startswith(_A_THING)
