"""Who is told about by name: a speaker who has one, or somebody else who does what only people do.

What is said of somebody by name is understood as the same sentence about "User" would be, and is theirs alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from retain.core.gate_names import FIRST_NAMES
from retain.core.rules.lexicon import KIN, PETS, STOP_WORDS
from retain.core.rules.verbs import ADVERBS, is_verb, lemma

_ROLES: Final = frozenset({"user", "the user", "assistant", "system"})
_MONTHS: Final = frozenset(
    "january february march april may june july august september october november december".split()
)


def speaker_name(name: str) -> str:
    """The name of a speaker as far as it is one; '' for a name such as "user"."""
    return "" if name.strip().casefold() in _ROLES else name.strip()


def folded(name: str) -> str:
    """A name in the form in which two are compared."""
    return " ".join(name.casefold().split())


def person_of(text: str, speaker: str = "") -> str:
    """Whom a text is about by name: somebody it begins with, else the speaker; '' for a speaker without a name."""
    return speaker if not text[:1].isupper() or begins_with(text, speaker) else _somebody(text) or speaker


def begins_with(text: str, name: str) -> bool:
    """Whether a text is told about somebody of this name."""
    return bool(name) and _name(name).match(text) is not None


def as_user(text: str, name: str) -> str:
    """A text about somebody by name as it would be told about "User"."""
    return _name(name).sub("User", text) if name else text


def without_prefix(text: str, speaker: str) -> str:
    """The words of a message that begins with who says them: "Maya: I moved to Bergen"."""
    found = _prefix(speaker).match(text) if speaker and ":" in text[: len(speaker) + 16] else None
    return text[found.end() :] if found else text


@lru_cache(maxsize=256)
def _prefix(name: str) -> re.Pattern[str]:
    return re.compile(rf"\s*[*_\[(<]{{0,3}}{_written(name)}[*_\])>]{{0,3}}\s*:[*_]{{0,3}}\s+", re.IGNORECASE)


@lru_cache(maxsize=256)
def _name(name: str) -> re.Pattern[str]:
    """A name at the start of a sentence, and as it is written anywhere else but where it is told as a name."""
    word = _written(name)
    anywhere = "" if name.casefold() in _MONTHS else rf"|(?<!name is )(?<!called )(?<!named )(?<!call )\b{word}(?!\w)"
    return re.compile(rf"(?:(?<=^)|(?<=[.!?] ))(?i:{word})(?!\w){anywhere}")


def _written(name: str) -> str:
    return r"\s+".join(map(re.escape, name.split()))


_ADVERB: Final = r"(?:also|still|now|just|recently|often|usually|always|never|really|no longer|currently|finally)"
_LEADING: Final = re.compile(
    rf"(?P<name>[A-Z][\w-]+(?: [A-Z][\w-]+)?)(?:'s (?:\w+ )?(?P<theirs>\w[\w-]*)\b| (?:{_ADVERB} )*(?P<verb>[a-z]+)\b(?P<more>[^.!?]*))"
)
_TASTES: Final = frozenset("live like love hate prefer enjoy dislike adore speak".split())
"""What only people do, whatever they are called."""

_PEOPLE_DO: Final = _TASTES | frozenset(
    "work move relocate study drive own play eat drink collect adopt avoid want quit marry turn".split()
)
_AUXILIARY: Final = re.compile(r" (?:(?:not|also|now|still|just|been|never) )*(?P<verb>[a-z]+)")
_IS: Final = re.compile(
    r" (?:(?:not|also|now|still|just|already|an?) )*(?:\d+(?! [a-z]*s\b(?<!years))|(?:vegan|vegetarian|married|single|divorced|engaged|allergic|afraid|retired|pregnant|living|moving|studying|working (?:at|as|for))\b)"
)
_THEIRS: Final = (KIN | PETS | frozenset("name birthday age surname job address hometown wife's".split())) - {"team"}


def _somebody(text: str) -> str:
    """Who a text begins with, when it says what is only said of people."""
    found = _LEADING.match(text)
    if found is None:
        return ""
    name = found["name"]
    first = name.split()[0].lower()
    is_known = first in FIRST_NAMES
    if first in STOP_WORDS | KIN | ADVERBS or (not is_known and is_verb(first)):
        return ""
    if found["theirs"]:
        return name if is_known and found["theirs"].lower() in _THEIRS else ""
    return name if _is_done_by_people(found["verb"], found["more"], is_known=is_known) else ""


def _is_done_by_people(verb: str, more: str, *, is_known: bool) -> bool:
    if verb in ("is", "was"):
        return is_known and _IS.match(more) is not None
    if verb in ("does", "did", "has", "had", "can", "will", "would"):
        following = _AUXILIARY.match(more)
        verb = following["verb"] if following else ""
    return lemma(verb) in (_PEOPLE_DO if is_known else _TASTES)
