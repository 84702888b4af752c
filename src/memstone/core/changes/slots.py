"""Single-valued slots: things a person has one of at a time.

A slot is a name such as ``lives_in`` or ``favourite:colour`` with one value. Two statements about the same slot of the
same person agree or contradict each other, whatever else they say. Patterns are data; the first that matches a slot wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memstone.core.rules import slot_patterns as said
from memstone.core.rules.definite import VAGUE
from memstone.core.rules.own import MANY
from memstone.core.rules.stance import token
from memstone.core.text.clues import Clued, clued, clues_of_all, is_possible
from memstone.core.text.lexicon import SYNONYMS
from memstone.core.text.stem import stem

NONE: Final = "none"
"""The value of a slot that became empty: no car, no job."""

_PATTERNS: Final = tuple((slot, clued(pattern)) for slot, pattern in said.PATTERNS)
_OWNED: Final = tuple(
    (kind, clued(rf"\b{brands}\b"), tuple(map(clued, said.owned(kind, brands)))) for kind, brands in said.BRANDS.items()
)
"""Kind, what names one, and how somebody says that they have it."""

_STATUSES: Final = {
    slot: tuple((value, clued(pattern)) for value, pattern in rows) for slot, rows in said.STATUSES.items()
}
_PATTERN_CLUES: Final = clues_of_all(pattern for _, pattern in _PATTERNS)
_STATUS_CLUES: Final = clues_of_all(pattern for rows in _STATUSES.values() for _, pattern in rows)
_FAVOURITES: Final = tuple((re.compile(pattern), what, value) for pattern, what, value in said.FAVOURITES)
_AGES: Final = tuple(clued(pattern) for pattern in said.AGES)
_AGES_OF_OTHERS: Final = tuple(clued(pattern) for pattern in said.AGES_OF_OTHERS)
_TOOLS: Final = tuple(clued(pattern) for pattern in said.TOOLS)
_WANTED: Final = tuple(clued(pattern) for pattern in said.WANTED)
_ADDRESS: Final = clued(said.ADDRESS)
_PERSON: Final = re.compile(
    rf"\b(?:my|our|user's) (?:new )?({said.SINGLE_PEOPLE}) is (?:now )?(?:called |named )?(?:(?:mr|mrs|ms|miss|dr|prof|professor|doctor)\.? )?([^\W\d]\w+)(?=$|[.,;!?]| (?:now|since|from|and)\b)"
)
_MADE_PERSON: Final = re.compile(
    rf"\b(?:makes ([^\W\d]\w+) my|([^\W\d]\w+) is (?:now )?my) (?:new )?({said.SINGLE_PEOPLE})\b"
)
_NO_CAR: Final = clued(
    r"\b(?:no[- ]car|car[- ]free|without a car|do not (?:have|own) a car|no longer (?:have|own) a car|sold (?:the|my|our) car\b(?! (?:for|and bought|to buy)))"
)
_OTHERS: Final = re.compile(
    r"\b(?:he|she|they|it|who|that|which|his|her|their)(?: (?:also|now|still|just|both|all|currently|recently))? ?$|\b(?:he|she) (?:is|was|has)(?: \w+)? ?$"
)
"""What stands right before a slot that is somebody else's."""


def slots_of(text: str, *, own: bool = True) -> dict[str, str]:
    """The slots a lower-case text without contractions fills; in an ``own`` text "he" is somebody else."""
    found: dict[str, str] = {}
    for slot, value in _filled(text, own=own):
        if value and value not in _SKIPPED:
            found.setdefault(slot, value)
    return found


def names_status(text: str) -> bool:
    """Whether a lower-case text tells a status, held or no longer held."""
    return any(_statuses(text))


def beyond_statuses(text: str) -> str:
    """What a text says besides the statuses in it."""
    for rows in _STATUSES.values():
        for _, pattern in rows:
            text = pattern.sub(" ", text)
    return text


def _filled(text: str, *, own: bool) -> Iterator[tuple[str, str]]:
    yield from _statuses(text)
    named = [(kind, pattern) for kind, brand, patterns in _OWNED if brand.search(text) for pattern in patterns]
    usual = _PATTERNS if is_possible(text, _PATTERN_CLUES) else ()
    for slot, pattern in (*named, *usual):
        match = pattern.search(text)
        if match and not (own and _OTHERS.search(text[: match.start()])) and not _is_denied(text, match):
            yield slot, _value(match[1])
    yield from _favourites(text)
    yield from _people(text)
    yield from _tools(text)
    yield from _wanted(text)
    yield "age", _age(text, _AGES if own else _AGES_OF_OTHERS)
    yield "job", _occupation(text)
    if match := _ADDRESS.search(text):
        yield _address(match), _value(match[3])
    if _NO_CAR.search(text):
        yield "car", NONE


def denied_of(text: str) -> dict[str, str]:
    """What a lower-case text says a slot is not, or is no longer: "no longer lives in oslo"."""
    if not _ENDS_SOMETHING.search(text) or not is_possible(text, _PATTERN_CLUES):
        return {}
    found = ((slot, pattern.search(text)) for slot, pattern in _PATTERNS)
    return {slot: _value(match[1]) for slot, match in found if match and _NO_MORE.search(text[: match.start(1)])}


_ENDS_SOMETHING: Final = re.compile(r"\b(?:not|no longer|no more|stopped|quit)\b")
_NO_MORE: Final = re.compile(rf"{_ENDS_SOMETHING.pattern}[^.,;!?]*$")
_DENIES: Final = re.compile(
    r"\b(?:not|no longer|no more|never|stopped|quit|left|used to|without|sold|dropped|lost|anymore|any more)\b[^.,;!?]*$"
)


def _is_denied(text: str, match: re.Match[str]) -> bool:
    """Whether the clause denies or ends what it fills a slot with: "no more renting in Bristol"."""
    return bool(_DENIES.search(text[: match.start(1)])) and " for " not in match[0]


NOT: Final = "not "
"""Before the value of a status that somebody no longer has."""

_DENIABLE: Final = frozenset({"diet", "marital", "studying"})
_DENIED_STATUS: Final = r"\b(?:not|no longer|no more|stopped being|off|quit|done with|ditched|gave up|given up|dropped|over)(?: an?| the| my| being| going| fully| really| strictly| completely)* %s\b|\b%s any ?more\b|\b%s (?:is over|is history|did not (?:last|stick|work)|was not for me)\b"


def _statuses(text: str) -> Iterator[tuple[str, str]]:
    if not is_possible(text, _STATUS_CLUES):
        return
    for slot, rows in _STATUSES.items():
        value = next((name for name, pattern in rows if pattern.search(text)), "")
        if not value:
            continue
        if slot in _DENIABLE and re.search(_DENIED_STATUS.replace("%s", value), text):
            yield slot, f"{NOT}{value}"
            continue
        yield slot, value
        for emptied in said.IMPLIED.get((slot, value), ()):
            yield emptied, NONE


def _favourites(text: str) -> Iterator[tuple[str, str]]:
    if "favo" not in text:
        return
    for pattern, what, value in _FAVOURITES:
        for match in pattern.finditer(text):
            kind = _value(match[what])
            yield f"favourite:{SYNONYMS.get(kind, kind)}", _value(match[value])


def _people(text: str) -> Iterator[tuple[str, str]]:
    if "my " not in text:
        return
    for match in _PERSON.finditer(text):
        yield f"person:{SYNONYMS.get(match[1], match[1])}", match[2]
    for match in _MADE_PERSON.finditer(text):
        yield f"person:{SYNONYMS.get(match[3], match[3])}", match[1] or match[2]


def _tools(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _TOOLS:
        match = pattern.search(text)
        if match and match["name"].split()[0] not in VAGUE:
            yield f"tool:{_SAME_TOOL.get(match['tool'], match['tool'])}", _value(match["name"])


_SAME_TOOL: Final = {"os": "operating system", "ide": "editor", "phone carrier": "carrier"}


def _address(match: re.Match[str]) -> str:
    kind = match[1].removesuffix("address").strip() or match[2] or ""
    return f"address:{SYNONYMS.get(kind, kind)}"


def _wanted(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _WANTED:
        if match := pattern.search(text):
            what = SYNONYMS.get(match[1]) or stem(match[1])
            yield f"wanted:{what}", SYNONYMS.get(match[2], match[2])


def _age(text: str, patterns: tuple[Clued, ...]) -> str:
    return next((match[1] for pattern in patterns if (match := pattern.search(text))), "")


def _occupation(text: str) -> str:
    match = said.IS_A.search(text)
    if not match:
        return ""
    words = match[1].split()
    known = words[-1] not in said.NOT_OCCUPATIONS and words[-1].endswith(said.OCCUPATION_ENDINGS)
    return _value(match[1]) if known else ""


def _value(text: str) -> str:
    return " ".join(text.strip(" .'").split())


_SKIPPED: Final = frozenset(
    {"", "it", "that", "this", "there", "here", "them", "home", "me", "a", "an", "the", "again", "now"}
)


def same_value(one: str, other: str) -> bool:
    """Whether two values of a slot say the same: equal, or one is a fuller form of the other."""
    if one.startswith(NOT) != other.startswith(NOT):
        return False
    first, second = ({token(word) for word in value.split() if len(word) > 1} for value in (one, other))
    return one == other or (bool(first and second) and (first <= second or second <= first))


def replaces(slot: str, new: str, old: str) -> bool:
    """Whether a new value of a slot ends the old one."""
    if slot.startswith(MANY):
        return False
    if new.startswith(NOT) or old.startswith(NOT):
        return new == f"{NOT}{old}" or old == f"{NOT}{new}"
    if slot in said.ENDS_ONLY:
        return old in said.FOLLOWS.get(new, ())
    return not same_value(new, old)
