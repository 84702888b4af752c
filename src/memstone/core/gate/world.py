"""What a message is about when it is about nobody: general knowledge, programs, arithmetic, how anybody does something."""

# ruff: noqa: E501 - a pattern is easier to read and to change as one line than cut into pieces

from __future__ import annotations

import re
from typing import Final

from memstone.core.gate.phrases import TECH_POSSESSIVE, any_of
from memstone.core.gate.said import QUOTED_MARK, Said
from memstone.core.gate.words import FAMOUS, PLACES_AND_BRANDS, PRIVATE_THINGS, PUBLIC_WORDS, TECH, TECH_WEAK, either

_PUBLIC: Final = PLACES_AND_BRANDS | FAMOUS | TECH
_SPEAKERS: Final = frozenset("i me my our you your".split())
_GENERIC: Final = re.compile(
    r"\bdifference between\b|\bhow (?:does|do) .{1,60} work\b|\bwhat (?:is|are) an? \b|\bwho (?:invented|discovered|founded|wrote|painted|composed|won|killed|assassinated|built)\b"
    r"|\b(?:history|capital|population|meaning|definition|origin|inventor|founder|president|king|queen) of\b|\b1\d{3}\b|\bcentury\b"
)
_PUBLIC_NAME: Final = re.compile(
    r"\b[Tt]he (?!(?:\w+day|January|February|March|April|May|June|July|August|September|October|November|December)\b)[A-Z]\w+"
    r"|\b[A-Z]\w+ (?:[A-Z]\w+|I{1,3}\b|\d)"
)
_THE_OWN: Final = re.compile(
    r"\b(?:the|that) (?!post office)(?!(?:most|best|first|average|right|main|meaning|difference|usual|typical|standard|normal|recommended|correct|proper) )"
    rf"(?:[\w'-]+ ){{0,2}}?(?:{either(PRIVATE_THINGS)})s?\b(?! of an? | in general)"
)
"""What people call "the" without having said which."""

_IDENTIFIER: Final = re.compile(
    r"[^\W_]_\w|\b[a-z]+[A-Z]|\(\)|\.(?:py|js|ts|txt|json|csv|sh|sql|md|html|css)\b|[{};]|=>|=="
)
_HOW_TO: Final = re.compile(
    r"\b(?:how (?:do|can|could|should|would|to|does|did)|why (?:is|does|do|are|did|will|would|am)|what is (?:wrong|the best way|the right way)|can i"
    r"|what (?:does|causes|happens)|is it (?:possible|ok|safe)|best way to|is there a way|fix|explain|difference between|write an?|convert|command|undo)\b"
)
_TROUBLE: Final = re.compile(
    r"\b(?:why|error|errors|returns?|fail|fails|failing|crash\w*|broken|throws?|slow|wrong|bug|exits?|undefined|fix|stuck|hangs?|does|match|how (?:do|can|to|should|would)"
    r"|can i|what does|command|undo|is it possible|best way|write an?|convert|explain|possible|way to)\b"
)
_ANYBODY: Final = any_of(
    r"\bhow (?:do|can|would|could|to|did) (?:i|we|you|people|one)\b|\bhow to\b|\bwhere (?:can|could|do) i (?:find|buy|watch|learn|get|read|see|stream|download)\b",
    r"\bi (?:want to (?:know|understand|learn)|mean|meant|see|think|guess|wonder|do (?:get|understand|know)|would like to (?:know|understand))\b",
    r"\b(?:should|do|can) (?:i|we) (?:know|need to know|understand|use|say|call|write|pronounce|assume|trust the|peel|refrigerate|freeze|rinse|soak|add)\b",
    r"\bwhat do i do (?:when|if)\b|\bwhen (?:i am|you are) ahead\b|\b(?:can|could|may) i (?:ask|get you|have you)\b|\bwhat (?:temperature|angle|setting) (?:should|do)\b",
    r"\bwhat if\b|\bif i\b|\bwhat (?:is|are) an? |\bwhat causes\b|\bshould (?:you|one|people)\b|\bin general\b|\bgeneric\b|\b(?:does|can|has|did) an? \w",
)
"""What anybody might ask, in whatever person."""

_TYPICAL: Final = re.compile(
    r"\bthe (?:most|least|best|worst|average|typical|usual|first|\w{3,}est)\b|\b(?:average|typical|typically|usually|generally)\b"
)
_MATERIAL: Final = re.compile(
    r"\b(?:this|these|the (?:above|following)) (?:\w+ )?(?:text|sentences?|message|passage|paragraph|email|code|list|poem|quote)\b"
)
_NUMBER: Final = re.compile(r"\d+")
_REASONED: Final = re.compile(r"\bhow (?:many|much|long|far|old|fast)\b|^if\b|\b(?:twice|sum|ratio|probability)\b")
_SHARED: Final = re.compile(r"\b(?:each|every|per|left|total|twice|sum|ratio|probability)\b")
_RIDDLE: Final = re.compile(r"^if [a-z]+ (?:is|has|was|and)\b|\b(?:twice|sum of|ratio of|probability of)\b")


def is_general(said: Said) -> bool:
    """Whether it asks about the world: a public subject, and nobody who speaks."""
    if said.words & _SPEAKERS or (said.words & {"we", "us"} and not said.words & PUBLIC_WORDS):
        return False
    return has_public_subject(said) or (_has_public_name(said) and not _THE_OWN.search(said.text))


def has_public_subject(said: Said) -> bool:
    """Whether it names what everybody means the same by."""
    return bool(said.words & PUBLIC_WORDS or said.words & FAMOUS or _GENERIC.search(said.low))


def _has_public_name(said: Said) -> bool:
    if QUOTED_MARK in said.text or not said.words.isdisjoint(PLACES_AND_BRANDS):
        return True
    return _PUBLIC_NAME.search(said.text) is not None


def is_everybodys(name: str) -> bool:
    """Whether a name is one that everybody means the same by: of a place, a brand, a language."""
    return all(word in _PUBLIC for word in name.casefold().split() if not word.isdigit())


def is_of_the_world(said: Said) -> bool:
    """Whether what is asked about is the world, or how anybody does something."""
    return is_general(said) or is_technical_how_to(said) or _ANYBODY.search(said.low) is not None


def is_technical(said: Said) -> bool:
    """Whether it is about programs."""
    return bool(said.words & TECH or len(said.words & TECH_WEAK) > 1) or _IDENTIFIER.search(said.text) is not None


def is_technical_how_to(said: Said) -> bool:
    """Whether it asks how a program is made to do something."""
    return is_technical(said) and _HOW_TO.search(said.low) is not None


def is_trouble(said: Said) -> bool:
    """Whether it asks about a program as anybody might who has the same one."""
    if not (is_technical(said) or TECH_POSSESSIVE.search(said.low)):
        return False
    return _TROUBLE.search(said.low) is not None


def is_puzzle(said: Said) -> bool:
    """Whether it is arithmetic in words."""
    numbers = len(_NUMBER.findall(said.low))
    if not numbers:
        return _RIDDLE.search(said.low) is not None
    if numbers > 1 and _REASONED.search(said.low):
        return True
    return _SHARED.search(said.low) is not None and "how" in said.words


def is_anybodys(said: Said) -> bool:
    """Whether somebody else could have asked the same and wanted the same answer."""
    if is_general(said) or is_technical(said) or QUOTED_MARK in said.text or _MATERIAL.search(said.low):
        return True
    if _ANYBODY.search(said.low):
        return True
    return not said.words & _SPEAKERS and _TYPICAL.search(said.low) is not None
