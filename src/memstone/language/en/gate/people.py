"""Find people and things that a message names."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from memstone.language.en.gate.phrases import QUOTED_MARK, OwnWords
from memstone.language.en.gate.words import (
    CALENDAR,
    COMMON_WORDS,
    FAMOUS,
    HUMAN_VERBS,
    PLACES_AND_BRANDS,
    PRIVATE_NOUNS,
    PUBLIC_WORDS,
    join_alternatives,
)
from memstone.language.lists import read_data
from memstone.language.text.words import STOP_WORDS

_DATA: Final = read_data("en", "gate_people")

# --- first names of many countries, in small letters ------------------------------------------------------------------


FIRST_NAMES: Final = frozenset(_DATA["first_names"].split())


# --- people and things that a message names ---------------------------------------------------------------------------


SHORTEST_NAME: Final = 4
"""Names shorter than this are found in too many other words."""

_CAPITALISED: Final = re.compile(r"(?<![\w.'-])(?P<name>[^\W\d_a-z][^\W\d_A-Z]{1,})(?P<own>'s?(?!\w))?(?![\w-]|'\w)")
_WORD_BEFORE: Final = re.compile(r"(?<![\w.'-])([\w.'-]++)[ \t]++\Z")
_NEXT_NAME: Final = re.compile(r"\s+(?:(?:van|von|de|da|der|den|del|di|du|le|la|bin|al|el) )*[A-Z]")
_BEHIND_WORDS: Final = re.compile(r"(?:\A|(?<=\w))\W*+\Z")
_STOP: Final = re.compile(r"[.!?:]\s")
_GERMAN: Final = re.compile(r"\b(?:hat|ist|der|die|das|wann|wie|wer|wo|von|mit|noch)\b")
"""Small words of a language that writes every noun with a capital."""

_PLACED: Final = frozenset("the a an in at near on".split())
_TITLES: Final = frozenset("aunt auntie uncle cousin dr mr mrs ms grandma grandpa nurse coach".split())
_PERSON: Final = frozenset("he she his her him hers himself herself".split())
_DOES: Final = re.compile(
    r"(?:\b(?:did|does|has|had|is|was|will|would|can|should|could|if|that|when|whether|what|who|where)\s+\Z)",
    re.IGNORECASE,
)
_DEED: Final = re.compile(
    rf"(?: and \w+)?(?: \w+ly| still| ever| already| finally| also| always| even| not| really| just| so| too)? (?:{join_alternatives(HUMAN_VERBS)})\b"
)
_TOUCHED: Final = re.compile(
    r"\b(?:what|who|which \w+|how) (?:\w+ )?(?:scared|upset|annoyed|hurt|helped|convinced|made|told|taught|gave|bothered|offended|surprised|cheered"
    r"|invited|hired|fired|dumped|introduced|lent|owes?|knows?|drives?|married|called|texted|met|stopped|kept|got)\s+\Z",
    re.IGNORECASE,
)
_EPONYM: Final = re.compile(
    r" (?:\w+ )?(?:law|laws|theorem|razor|disease|paradox|constant|equation|principle|box|syndrome|effect|rule|heel|cube|comet|wager|theory|number"
    r"|triangle|formula|method|algorithm|test|scale|slogan|ceo|stock|currency|anatomy)\b"
)
_WHO: Final = re.compile(r"\bwho(?:'s| is| was)\s+\Z", re.IGNORECASE)
_ABOUT_NAMES: Final = re.compile(
    r"\b(?:name|names|spell|pronounce|pronunciation|form of|version of|popular|meaning|character|characters|novel by|plays?|played|voiced?|starred|sang|sings"
    r"|song|album|book|movie|film|series|season|episode|show|actor|wrote|myth|bible|story|tale|happens? to)\b"
)
"""Names as words, and people in stories."""


def known_name(words: OwnWords, names: Collection[str]) -> str:
    """Return the one of ``names`` that stands first in a message as a word, in either case; '' when none does."""
    low, found = words.low.casefold(), []
    for name in names:
        folded = name.strip().casefold()
        if len(folded) >= SHORTEST_NAME and folded in low and _is_mentioned(words, low, name.strip(), folded):
            found.append((low.index(folded), name))
    return min(found)[1] if found else ""


def _is_mentioned(words: OwnWords, low: str, name: str, folded: str) -> bool:
    if folded in COMMON_WORDS or folded in STOP_WORDS:
        return any(
            found["name"] == name and not _begins_sentence(words.text[: found.start()])
            for found in _CAPITALISED.finditer(words.text)
        )
    return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", low) is not None


def private_person(words: OwnWords) -> str:
    """Return a name that is asked about as one asks about people one knows; '' when there is none."""
    if QUOTED_MARK in words.text or words.words & FAMOUS:  # whoever is asked about is in what was quoted, or public
        return ""
    in_story = _ABOUT_NAMES.search(words.low) is not None
    for found in _CAPITALISED.finditer(words.text):
        if _may_be_private(words.text, found) and _is_asked_about(words, found, in_story=in_story):
            return found["name"]
    if words.text.islower() and not in_story:
        return next((word for word in words.tokens if word in FIRST_NAMES and word not in COMMON_WORDS), "")
    return ""


def _may_be_private(text: str, found: re.Match[str]) -> bool:
    low = found["name"].casefold()
    if low in CALENDAR or low in PLACES_AND_BRANDS or low in PUBLIC_WORDS or low in STOP_WORDS:
        return False
    before = text[: found.start()]
    if _begins_sentence(before) and not found["own"] and low not in FIRST_NAMES:
        return False
    is_longer = _NEXT_NAME.match(text, found.end()) and not (low in FIRST_NAMES and _GERMAN.search(text))
    return not is_longer and not _is_part_of_more(before)


def _begins_sentence(before: str) -> bool:
    """Return whether what follows begins a sentence.

    Only marks stand before it, with a stop among them or nothing else.
    """
    marks = _BEHIND_WORDS.search(before)
    return marks is not None and (not marks.start() or _STOP.search(marks[0]) is not None)


def _is_part_of_more(before: str) -> bool:
    """Return whether the word before makes it a place, a thing or a longer name."""
    found = _WORD_BEFORE.search(before)
    if found is None:
        return False
    word = found[1].lower().rstrip(".")
    if word in _PLACED:
        return True
    return found[1][0].isupper() and word not in _TITLES and not _begins_sentence(before[: found.start()])


def _is_asked_about(words: OwnWords, found: re.Match[str], *, in_story: bool) -> bool:
    """Return whether it is somebody: a first name is enough, another word must be so by what is said of it."""
    if words.words & _PERSON and not in_story:
        return True
    deed = _DEED.match(words.text, found.end()) and _DOES.search(words.text[: found.start()])
    if found["name"].casefold() in FIRST_NAMES:
        return bool(deed) or not (in_story or words.words & PUBLIC_WORDS)
    if found["own"] and not words.words & PUBLIC_WORDS and not _EPONYM.match(words.text, found.end()):
        return True
    if _TOUCHED.search(words.text[: found.start()]):
        return not in_story
    if words.words & PUBLIC_WORDS:
        return bool(deed)
    return bool(deed or words.words & PRIVATE_NOUNS or (_WHO.search(words.text[: found.start()]) and not in_story))
