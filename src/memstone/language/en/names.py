"""Find the names in a statement, and those that nobody has said."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from memstone.language.en.lexicon import LIGHT
from memstone.language.en.lexicon import STOP_WORDS as SAID_OFTEN
from memstone.language.lists import read_data
from memstone.language.text.tokens import document_terms, query_terms
from memstone.language.text.words import STOP_WORDS
from memstone.model.memory import EntityType

_DATA: Final = read_data("en", "names")

# --- the names in a statement, and which of them nobody has said ------------------------------------------------------


_WORD: Final = re.compile(r"\w+(?:['\u2019.,:-]\w+)*")
_SENTENCE_STARTS: Final = ".!?:"
_SHORTEST_STEM: Final = 4
_STARTS_WITH_NAME: Final = re.compile(
    r"(?P<name>[^\W\d_a-z][^\W\d_]*(?<!s))(?:['\u2019]s |,? (?:is|was|has|had|will|and|[a-z]+(?:ed|s)) )"
)
"""A first word that somebody does something after; it has a capital in any case, so it takes more to be a name."""

_CALENDAR: Final = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)
_RELATIVE: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|weekend|(?:last|next|this|past|coming|in (?:a|two|three|\d+)) \w+)\b",
    re.IGNORECASE,
)
_GERMAN: Final = re.compile(r"\b(?:und|ist|nicht|eine[nmrs]?|ein|mit|f\u00fcr|auf|seit|(?:Ben|ben|N|n)utzer(?:in)?)\b")
"""Small words of a language that writes every noun with a capital."""


def names_in(statement: str, leave_out: Sequence[str] = ()) -> list[str]:
    """Return the words with a capital that have it for themselves, not for standing at the start of a sentence."""
    skipped = {word.casefold() for word in leave_out}
    first = _STARTS_WITH_NAME.match(statement)
    found: list[str] = []
    behind = 0
    for word in _WORD.finditer(statement):
        between = statement[behind : word.start()].rstrip(" \"'(")
        is_start = between[-1] in _SENTENCE_STARTS if between else not behind
        behind = word.end()
        bare = word[0].removesuffix("'s").removesuffix("\u2019s")
        named = not is_start or (first is not None and word.start() == 0)
        if bare[0].isupper() and named and bare.casefold() not in skipped and bare != "I":
            found.append(bare)
    return found


def unknown_names(statement: str, text: str, leave_out: Sequence[str] = ()) -> list[str]:
    """Return the names in a statement that are not in what was said, in any form a name may take there.

    "Postgres" is PostgreSQL, "NYC" New York City, and "last month" may well have been April.
    """
    if _GERMAN.search(statement):
        return []
    names = names_in(statement, leave_out)
    words = {word.casefold() for word in _WORD.findall(text)}
    dated = _CALENDAR if _RELATIVE.search(text) else frozenset()
    spelled_out = _initials_known(names, words)
    known = set(document_terms(text))
    return [
        name
        for name in names
        if name not in spelled_out
        and name.casefold() not in dated
        and not set(query_terms(name)) <= known
        and not any(_same_stem(name.casefold(), word) for word in words)
    ]


def _same_stem(name: str, word: str) -> bool:
    if min(len(name), len(word)) < _SHORTEST_STEM:
        return False
    return name.startswith(word) or word.startswith(name)


def _initials_known(names: Sequence[str], words: Collection[str]) -> set[str]:
    """Return names that follow one another and whose first letters are a word of what was said."""
    known: set[str] = set()
    for start in range(len(names)):
        for end in range(start + 2, min(len(names), start + 5) + 1):
            if "".join(name[0] for name in names[start:end]).casefold() in words:
                known.update(names[start:end])
    return known


# --- names that are known without context, and words that tell what a name stands for. Data only ----------------------


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _name_set(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.replace("\n", " ").split(","))


FIRST_NAMES: Final = _word_set(
    _DATA["first_names"],
)

PLACES: Final = _word_set(
    _DATA["places"],
) | _name_set(
    _DATA["places_2"],
)

ORGANIZATIONS: Final = _word_set(
    _DATA["organizations"],
)

TECHNOLOGIES: Final = _word_set(
    _DATA["technologies"],
)

PRODUCTS: Final = _word_set(
    """iphone ipad macbook airpods kindle playstation xbox nintendo alexa roomba gopro fitbit prius thinkpad chromebook
    ps5""",
)

EVENTS: Final = _word_set(
    _DATA["events"],
) | _name_set(_DATA["events_2"])

KNOWN: Final = {
    **dict.fromkeys(FIRST_NAMES, EntityType.PERSON),
    **dict.fromkeys(PRODUCTS, EntityType.PRODUCT),
    **dict.fromkeys(EVENTS, EntityType.EVENT),
    **dict.fromkeys(ORGANIZATIONS, EntityType.ORGANIZATION),
    **dict.fromkeys(TECHNOLOGIES, EntityType.TECHNOLOGY),
    **dict.fromkeys(PLACES, EntityType.LOCATION),
}
"""Names and what they stand for where nothing in the text says otherwise."""

AMBIGUOUS: Final = _word_set(_DATA["ambiguous"])
_SHORTEST: Final = 3
UNCASED: Final = frozenset(
    name for name in KNOWN.keys() - FIRST_NAMES - AMBIGUOUS if " " not in name and len(name) >= _SHORTEST
)
"""What is a name in small letters, too."""

_LONGER: Final = sorted((name for name in KNOWN if " " in name), key=len, reverse=True)
UNCASED_PAIRS: Final = {
    first: tuple(name for name in _LONGER if name.startswith(f"{first} "))
    for first in {name.partition(" ")[0] for name in _LONGER}
}
"""Names of several words by their first one, the longest first."""

CALENDAR: Final = _word_set(_DATA["calendar"])

_STARTERS: Final = _word_set(_DATA["starters"])
COMMON: Final = STOP_WORDS | SAID_OFTEN | LIGHT | _STARTERS
"""Words that have a capital only for standing first, or for being shouted."""

TYPE_OF_LAST: Final = {
    **dict.fromkeys(
        _word_set(_DATA["type_of_last"]),
        EntityType.ORGANIZATION,
    ),
    **dict.fromkeys(
        _word_set(_DATA["type_of_last_2"]),
        EntityType.LOCATION,
    ),
    **dict.fromkeys(
        _word_set(_DATA["type_of_last_3"]),
        EntityType.EVENT,
    ),
}
"""What the last word of a name says about it."""

TYPE_OF_FIRST: Final = {
    **dict.fromkeys(_word_set("lake mount mt. fort port cape lower upper"), EntityType.LOCATION),
    **dict.fromkeys(
        _word_set(_DATA["type_of_first"]),
        EntityType.PERSON,
    ),
    **dict.fromkeys(_word_set("university bank ministry department institute"), EntityType.ORGANIZATION),
}

HEADS: Final = _word_set(_DATA["heads"])
"""Nouns that make one thing of the noun before them: a support group, a book club."""

_NOT_MODIFIERS: Final = _word_set(_DATA["not_modifiers"])

NOUNS_LIKE_ADJECTIVES: Final = _word_set(_DATA["nouns_like_adjectives"])

ORDINARY: Final = STOP_WORDS | SAID_OFTEN | _NOT_MODIFIERS
"""Words that stand before a noun and make no compound with it."""

KIN: Final = dict(pair.split(":") for pair in _DATA["kin"].split())
"""Who somebody is to somebody else, each by one word."""

PETS: Final = _word_set(_DATA["pets"])


# --- what a name stands for, told by its own words and by the words around it -----------------------------------------


_BEFORE: Final = 28
_AFTER: Final = 20

_KIN_FORMS: Final = tuple(map(re.escape, sorted(KIN, key=len, reverse=True)))

_CUES_BEFORE: Final = re.compile(
    rf"""(?:
      (?P<person>\b(?:{"|".join(_KIN_FORMS)})(?:,|[ ](?:is|named|called))?
        |\b(?:hey|hi|hello|thanks|thank[ ]you|dear|bye|met|married|marry|dating|told|ask|asked|texted|hugs[ ]to)
        |\bname(?:[ ]is|'s)|\bi['\u2019]m|\bspeak(?:ing)?[ ](?:to|with))
     |(?P<other>\b(?:{"|".join(sorted(PETS))})(?:,|[ ](?:is|named|called))?)
     |(?P<organization>\b(?:work(?:s|ed|ing)?|job|intern(?:s|ed|ing|ship)?|employed|hired|consult(?:s|ed|ing)?
        |engineer|developer|manager|designer|nurse|teacher|analyst|scientist|ceo|cto|founder|head)
        (?:[ ](?:\w+[ ]){{0,2}}?(?:at|for|by|with|of))|\bjoined|\bco-?founded)
     |(?P<location>\b(?:liv(?:e|es|ed|ing)|moved?|moving|relocat(?:e|ed|ing)|born|rais(?:ed)|grew[ ]up|based|trips?
        |travel(?:s|ed|ing|led|ling)?|flew|fly|flying|flights?|vacation(?:ed)?|holidays?|located|headquartered
        |stay(?:ed|ing)?|arriv(?:e|ed|ing)|visit(?:s|ed|ing)?|hometown|went|going|drove|back|away|here|city|town)
        (?:[ ](?:back|again|over|out))?[ ](?:in|to|from|near|around|of|through)(?:[ ]the)?
        |\b(?:am|is|are|i['\u2019]m|come|comes|originally)[ ]from|\bcapital[ ]of)
     |(?P<technology>\b(?:written|coded|implemented|programs?|programming|coding)[ ]in|\bdeploy(?:ed|s)?[ ](?:to|on)
        |\b(?:library|framework|language|database|package)(?:,|[ ](?:is|named|called))?)
     |(?P<product>\b(?:bought|buy|buying|ordered|drives?|own|owns)[ ](?:an?|the|my|some|another)
        (?:[ ](?:new|used|old))?)
     |(?P<place>\bin)
    )[ ]$""",
    re.VERBOSE,
)
_PERSON_AFTER: Final = re.compile(
    r"""(?:['\u2019]s[ ](?:birthday|wedding|mom|mum|dad|wife|husband|sister|brother|kids|house|boyfriend|girlfriend)
     |[ ](?:said|says|told|asked|thinks|wants|wanted|loves|loved|likes|liked|lives|lived|works|worked|moved|texted
       |invited|plays|played|visited|married|hates|enjoys|thought|suggested|recommended|mentioned|teaches|taught|studies
       |studied|speaks|prefers|hopes|feels|felt|believes|remembers|graduated|cooks|bakes|paints|sings|dances|writes|reads|swims
       |drinks|eats|smokes|knits|volunteers|retired|and[ ]i\b|and[ ]me\b|turned[ ]\d|called[ ](?:me|us)))\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NAME_AFTER: Final = re.compile(
    r"""[ ](?:sells|sold|bought|buys|owns|uses|used|runs|ran|hired|offers|offered|announced|launched|released|sent
     |gave|wrote|built|makes|made|went|came|left|got|joined|founded|has[ ](?:an?|two|three)|will[ ]be
     |is[ ](?:my|our|his|her|their|located
     |based|headquartered|married|allergic|moving)|was[ ](?:born|founded)|and[ ](?:my|our))\b""",
    re.VERBOSE,
)
"""What people do, and organisations as well."""

_CALL_BEGINS: Final = re.compile(
    rf"""(?:^\s*|[.!?]\s+|\b(?:hey|hi|hello|thanks|thank[ ]you|bye|wow|congrats|congratulations|yeah|yes|no|oh|well|sure
     |okay|ok|dear|great|cool|morning|night|sorry|please|agreed),?[ ]
     |(?P<kin>{"|".join(_KIN_FORMS)})?(?P<listed>,)[ ])$""",
    re.VERBOSE,
)
_CALL_ENDS: Final = re.compile(r"[!?]|\.(?!\w)|,|$")
_TYPES: Final = {
    "person": EntityType.PERSON,
    "other": EntityType.CONCEPT,
    "organization": EntityType.ORGANIZATION,
    "location": EntityType.LOCATION,
    "place": EntityType.LOCATION,
    "technology": EntityType.TECHNOLOGY,
    "product": EntityType.PRODUCT,
}
_WEAK: Final = ("place", "location", "product")
"""Cues that a known name overrules: one can be interested in Python, and go to Anna."""


class NameSpan(NamedTuple):
    """A name and where it is."""

    start: int
    end: int
    name: str
    type: str


def type_of(name: str, text: str, start: int, end: int) -> str:
    """Return the type of a name that is in a text from ``start`` to ``end``."""
    folded = name.casefold()
    words = folded.split()
    entity_type = TYPE_OF_LAST.get(words[-1].rstrip(".,")) if len(words) > 1 else None
    entity_type = entity_type or (TYPE_OF_FIRST.get(words[0]) if len(words) > 1 else None)
    if entity_type:
        return entity_type
    known = KNOWN.get(folded) or (EntityType.PERSON if _is_person(words) else None)
    cue = _CUES_BEFORE.search(text[max(0, start - _BEFORE) : start].casefold())
    kind = cue.lastgroup if cue else None
    if kind and not (known and kind in _WEAK):
        return _TYPES[kind]
    if known:
        return known
    return EntityType.PERSON if _PERSON_AFTER.match(text, end, end + _AFTER) else _by_shape(name, words)


def is_named_by(text: str, end: int) -> bool:
    """Return whether what follows a word at the start of a sentence shows that it is somebody's name."""
    return any(cues.match(text, end, end + _AFTER) is not None for cues in (_PERSON_AFTER, _NAME_AFTER))


def is_addressed(text: str, one: NameSpan) -> bool:
    """Return whether a name only calls somebody: "Thanks, Anna!" says nothing about Anna."""
    after = _CALL_ENDS.match(text, one.end) if one.type == EntityType.PERSON else None
    before = _CALL_BEGINS.search(text[max(0, one.start - 16) : one.start].casefold()) if after else None
    if before is None or before["kin"]:
        return False
    return before["listed"] is None or after is None or after[0] != ","  # in a list it stands between commas


def _is_person(words: list[str]) -> bool:
    """Return whether a name begins with a first name, or has an initial between other words."""
    return words[0].partition("-")[0] in FIRST_NAMES or any(len(word) == 2 and word[1] == "." for word in words[1:-1])


def _by_shape(name: str, words: list[str]) -> str:
    if "_" in name or (name[:1].islower() and not name.islower()):
        return EntityType.TECHNOLOGY
    if len(words) > 1 and words[-1][:1].isdigit():
        return KNOWN.get(words[0]) or EntityType.PRODUCT
    return EntityType.CONCEPT


_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")

_NAMED_DAYS: Final = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter english""".split()
)
_ENGLISH: Final = frozenset(
    "is are was were has have had the of and with to for at does not will on from named in name's name".split()
)
_NOT_ENGLISH: Final = frozenset(
    """der die das den dem ein eine einen einem hat ist und beim vom zum am im mit le la les un une est el los es una
    een het di il è o os do da em och att og hai ka ki""".split()
)
_TYPO: Final = 0.8


def unsaid_names(fact: str, text: str, leave_out: Sequence[str]) -> list[str]:
    """Return the names of an English statement that nobody said; elsewhere capital letters tell no name."""
    if not _is_english(fact) or not text.isascii():
        return []
    words = set(_TOKEN.findall(text.casefold()))
    names = (one for one in unknown_names(fact, text, leave_out) if one.casefold() not in _NAMED_DAYS | STOP_WORDS)
    return [one for one in names if not _is_mended(one.casefold(), words)]


def _is_english(fact: str) -> bool:
    """Return whether capital letters are names here: German writes every noun with one."""
    words = {word.lower() for word in _TOKEN.findall(fact)}
    return bool(words & _ENGLISH) and not words & _NOT_ENGLISH


def _is_mended(name: str, words: set[str]) -> bool:
    """Return whether a name was said with a typo."""
    near = (word for word in words if word[0] == name[0] or word[-1] == name[-1])
    return any(SequenceMatcher(None, name, word).ratio() >= _TYPO for word in near)
