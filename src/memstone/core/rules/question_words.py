"""The words in which an assistant asks somebody about themselves, and how answers are fitted to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from memstone.core.rules import nouns
from memstone.core.rules import reply_values as replies
from memstone.core.rules.replies import bare

OFTEN: Final = (
    r"(?:usually |normally |typically |mainly |mostly |currently |generally |regularly |primarily |most often )?"
)
SOME: Final = r"(?:new |old |older |younger |little |big |eldest |oldest |youngest |first |second |other )?"
PERSON: Final = rf"(?P<whose>{SOME}(?!friends?\b|client|colleague|team\b|family\b)(?:{nouns.RELATIVES}))"
PET: Final = rf"(?P<whose>{SOME}(?:{nouns.ANIMALS}))"
FIRM: Final = r"(?P<whose>company|startup|business|band|podcast|blog|shop|school|boat)"
CITY: Final = r"(?:city|town|country|village|state|region|part of the (?:world|country)|neighbou?rhood|area)"
KINDS: Final = r"(?:(?:kind|sort|type|brand|make) of )?"
WORK: Final = r"(?: for (?:a living|work))?"
MANY: Final = (
    r"(?P<what>kids|children|sons|daughters|siblings|brothers|sisters|grandchildren|grandkids|cats|dogs|pets|horses"
    r"|rabbits|chickens|cousins|nieces|nephews)"
)
TOOLS: Final = (
    r"(?P<tool>(?:code |text )?editor|ide|browser|phone|laptop|computer|tablet|operating system|os|distro|shell|terminal|bank|(?:e-?)?mail client"
    r"|search engine|note-?taking app|notes app|calendar(?: app)?|password manager|keyboard(?: layout)?|music service|streaming service|to-?do app|task manager"
    r"|camera|smartwatch|watch|e-?reader|(?:frontend |web )?framework|database|cloud provider|programming language|package manager|window manager|messenger"
    r"|(?:phone )?carrier|mobile provider|internet provider|shampoo|toothpaste|issue tracker|project management tool|design tool|chat app|crm)"
)
DEVICES: Final = r"(?P<tool>phone|laptop|computer|browser|editor|ide|camera|bank|operating system|os)"
ROUTINES: Final = r"(?P<verb>get up|wake up|go to (?:bed|sleep)|(?:have|eat) (?:breakfast|lunch|dinner)|start work(?:ing)?|finish work|go to work)"
ACTIVITIES: Final = (
    r"(?P<verb>(?:go )?(?:run|running|jog|jogging|swim|swimming|cycle|cycling|hike|hiking|climb|climbing|ski|skiing|surf|surfing|dancing)|work out|exercise|train|meditate|cook|bake"
    r"|do (?:yoga|pilates|sports?)|go to the (?:gym|pool|cinema|theatre|theater|library|office|dentist|market|sauna)|go to church|travel|eat out|eat (?:meat|fish|sweets|fast food)"
    r"|drink (?:coffee|tea|alcohol|wine|beer)|smoke|play (?:(?:the )?(?:guitar|piano|violin|drums)|tennis|football|soccer|golf|chess|basketball)|volunteer|(?:see|visit|call) your (?:\w+))"
)
FAVOURITE: Final = r"(?P<what>favou?rite (?!(?:ones?|parts?|things?|options?|of|versions?|drafts?)\b)[a-z' -]{3,30}?)"
GENRES: Final = r"(?P<what>(?:(?:kind|sort|type|style|genre)s? of )?(?:music|food|films?|movies?|books?|sports?|cuisine|art|podcasts?|novels?))"
_COMMON: Final = re.compile(
    r"(?:(?:kind|sort|type|style|genre)s? of \w+|colou?rs?|foods?|drinks?|seasons?|fruits?|vegetables?|animals?|dish|dishes|meals?|sports?|subjects?|genres?|desserts?|breakfast|snacks?|hobby|flowers?|flavou?rs?|cuisine|weather|pastime)$",
    re.IGNORECASE,
)
"""Of these a favourite is hardly ever a name, whatever letter its answer begins with."""


def favourite(asked: Mapping[str, str], value: str) -> str:
    """A favourite as it is written inside a sentence."""
    is_common = _COMMON.search(asked["what"]) is not None and not _OF_A_PEOPLE.match(value)
    return replies.small(value) if is_common else value


_OF_A_PEOPLE: Final = re.compile(r"[A-Z][a-z]+(?:an|ish|ese|ic|ch|i)\b")
"""Such as "Ethiopian", which is written with a capital anywhere."""


def counted(asked: Mapping[str, str], value: str) -> str:
    """So many of what was asked for."""
    what = asked["what"].lower()
    if value in ("one", "1"):
        what = "child" if what == "children" else what.removesuffix("s")
    return f"{value} {what}"


def with_people(said: str) -> str:
    """Such as "with my parents"."""
    value = bare(said)
    if value.lower() in ("alone", "by myself", "on my own"):
        return "alone"
    whom = value[5:] if value.lower().startswith("with ") else value
    return f"with {whom[:1].lower()}{whom[1:]}" if _PEOPLE.fullmatch(f"with {whom}") else ""


_PEOPLE: Final = re.compile(
    rf"with (?:my|two|three|an?) (?:[a-z]+ )?(?:{nouns.RELATIVES}|roommates|flatmates|housemates)"
    rf"(?: and (?:my |our |an? )?(?:[a-z]+ )?(?:{nouns.RELATIVES}|{nouns.ANIMALS}))?",
    re.IGNORECASE,
)


def lives(said: str) -> str:
    """Where, or with whom, somebody lives."""
    return replies.place(said) or (with_people(said) if said.lower().startswith(("with ", "alone", "by ")) else "")


def origin(said: str) -> str:
    """Where somebody comes from."""
    return re.sub(r"^(?:in|at|on) ", "from ", replies.place(said))


def does(said: str) -> str:
    """What somebody else does for a living."""
    return re.sub(r"^am ", "is ", re.sub(r"^work ", "works ", replies.trade(said)))


def measurement(said: str) -> str:
    """Something with a number in it."""
    value = replies.things(said)
    return value if re.search(r"\d", value) else ""


def pronouns(said: str) -> str:
    """How somebody wants to be spoken of: "they/them"."""
    value = bare(said)
    return value.lower() if re.fullmatch(r"\w+(?:/\w+)+", value) else ""
