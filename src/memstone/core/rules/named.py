"""Who is told about by name: a speaker who has one, or somebody else who does what only people do.

What is said of somebody by name is understood as the same sentence about "User" would be, and is theirs alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from memstone.core.entities.lists import FIRST_NAMES
from memstone.core.rules.owners import SELF
from memstone.core.rules.verbs import ADVERBS, is_verb, lemma
from memstone.core.text.lexicon import KIN, PETS, STOP_WORDS

_ROLES: Final = frozenset({"user", "the user", "assistant", "system"})
_MONTHS: Final = frozenset(
    "january february march april may june july august september october november december".split()
)


def speaker_name(name: str) -> str:
    """The name of a speaker as far as it is one; '' for a name such as "user"."""
    return "" if name.strip().casefold() in _ROLES else name.strip()


def person_of(text: str, speaker: str = "") -> str:
    """Whom a text is about by name: somebody it begins with, else the speaker; '' for a speaker without a name."""
    return _somebody(as_user(text, speaker)) or speaker if text[:1].isupper() else speaker


def begins_with(text: str, name: str) -> bool:
    """Whether a text is told about somebody of this name, or about somebody of theirs; not only to them."""
    found = _name(name).match(text) if name else None
    return found is not None and _GOES_ON.match(text, found.end()) is not None


_GOES_ON: Final = re.compile(r"(?:'s)? [a-z\d]")


def subjects(person: str, speaker: str) -> Callable[[str], str]:
    """The names under which what is said of somebody and of their people is compared.

    What others tell of somebody stands apart from what they say themselves: nobody's own words are changed by others.
    """
    name = " ".join(person.casefold().split())
    whom = name if person == speaker else f"{name}, by others"

    def subject(owner: str) -> str:
        return owner if not person else whom if owner == SELF else f"{whom}: {owner}"

    return subject


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
    behind = "(?='s )" if name.casefold() in _MONTHS else r"(?!\w)"
    return re.compile(
        rf"(?:^|(?<=[.!?] ))(?i:{word})(?!\w)|(?<!name is )(?<!called )(?<!named )(?<!call )(?<!\w){word}{behind}"
    )


def _written(name: str) -> str:
    return r"\s+".join(map(re.escape, name.split()))


_ADVERB: Final = r"(?:also|still|now|just|recently|often|usually|always|never|really|no longer|currently|finally)"
_LEADING: Final = re.compile(
    rf"(?P<name>[A-Z][\w-]+(?: [A-Z][\w-]+)?)(?:'s (?P<theirs>[\w-]+(?: [\w-]+)?)| (?:{_ADVERB} )*(?P<verb>[a-z]+)\b(?P<more>[^.!?]*))"
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
_THEIRS: Final = (KIN | PETS | frozenset("name birthday age surname job address hometown".split())) - {"team"}
_NOBODY: Final = STOP_WORDS | KIN | ADVERBS | _MONTHS


def _somebody(text: str) -> str:
    """Who a text begins with, when it says what is only said of people."""
    found = _LEADING.match(text)
    if found is None:
        return ""
    name = found["name"]
    first = name.split()[0].lower()
    is_known = first in FIRST_NAMES
    if first in _NOBODY or "User" in name or (not is_known and is_verb(first)):
        return ""
    if found["theirs"]:
        return name if is_known and not _THEIRS.isdisjoint(found["theirs"].lower().split()) else ""
    return name if _is_done_by_people(found["verb"], found["more"], is_known=is_known) else ""


def _is_done_by_people(verb: str, more: str, *, is_known: bool) -> bool:
    if verb in ("is", "was"):
        return is_known and _IS.match(more) is not None
    if verb in ("does", "did", "has", "had", "can", "will", "would"):
        following = _AUXILIARY.match(more)
        verb = following["verb"] if following else ""
    if verb in ("owns", "owned") and not more.startswith((" a ", " an ")):
        return False  # who owns a service or a task, others may own next
    return lemma(verb) in (_PEOPLE_DO if is_known else _TASTES)
