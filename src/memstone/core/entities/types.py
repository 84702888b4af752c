"""What a name stands for, told by its own words and by the words around it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from memstone.core.entities.lists import FIRST_NAMES, KIN, KNOWN, PETS, TYPE_OF_FIRST, TYPE_OF_LAST
from memstone.model.entity import EntityType

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


class Spotted(NamedTuple):
    """A name and where it stands."""

    start: int
    end: int
    name: str
    type: str


def type_of(name: str, text: str, start: int, end: int) -> str:
    """The type of a name that stands in a text from ``start`` to ``end``."""
    folded = name.casefold()
    words = folded.split()
    told = TYPE_OF_LAST.get(words[-1].rstrip(".,")) if len(words) > 1 else None
    told = told or (TYPE_OF_FIRST.get(words[0]) if len(words) > 1 else None)
    if told:
        return told
    known = KNOWN.get(folded) or (EntityType.PERSON if _is_person(words) else None)
    cue = _CUES_BEFORE.search(text[max(0, start - _BEFORE) : start].casefold())
    kind = cue.lastgroup if cue else None
    if kind and not (known and kind in _WEAK):
        return _TYPES[kind]
    if known:
        return known
    return EntityType.PERSON if _PERSON_AFTER.match(text, end, end + _AFTER) else _by_shape(name, words)


def is_named_by(text: str, end: int) -> bool:
    """Whether what follows a word at the start of a sentence shows that it is somebody's name."""
    return any(cues.match(text, end, end + _AFTER) is not None for cues in (_PERSON_AFTER, _NAME_AFTER))


def is_addressed(text: str, one: Spotted) -> bool:
    """Whether a name only calls somebody: "Thanks, Anna!" says nothing about Anna."""
    after = _CALL_ENDS.match(text, one.end) if one.type == EntityType.PERSON else None
    before = _CALL_BEGINS.search(text[max(0, one.start - 16) : one.start].casefold()) if after else None
    if before is None or before["kin"]:
        return False
    return before["listed"] is None or after is None or after[0] != ","  # in a list it stands between commas


def _is_person(words: list[str]) -> bool:
    """Whether a name begins with a first name, or has an initial between other words."""
    return words[0].partition("-")[0] in FIRST_NAMES or any(len(word) == 2 and word[1] == "." for word in words[1:-1])  # noqa: PLR2004 - a letter and its full stop


def _by_shape(name: str, words: list[str]) -> str:
    if "_" in name or (name[:1].islower() and not name.islower()):
        return EntityType.TECHNOLOGY
    if len(words) > 1 and words[-1][:1].isdigit():
        return KNOWN.get(words[0]) or EntityType.PRODUCT
    return EntityType.CONCEPT
